"""Builds the module over the header that C programs use: there is one copy of it, beside this
directory. A source distribution has it inside (MANIFEST.in and `Sdist`)."""

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
HEADER = "netfathom_mark.h"
INSIDE = HERE / "include"
BESIDE = HERE.parent / "include"
NEEDED = """
netfathom-mark is a small C extension and could not be built: {why}
It needs a C compiler and Python's headers. Debian: apt-get install gcc python3-dev
"""


class Sdist(sdist):
    """With the header inside, for as long as the archive is made."""

    def run(self):
        copied = (BESIDE / HEADER).exists() and not INSIDE.exists()
        if copied:
            INSIDE.mkdir()
            shutil.copy(BESIDE / HEADER, INSIDE)
        try:
            super().run()
        finally:
            if copied:
                shutil.rmtree(INSIDE)


class Build(build_ext):
    """Says what is missing, where a compiler would only say that a file is not there."""

    def build_extension(self, ext):
        try:
            super().build_extension(ext)
        except Exception as error:
            raise SystemExit(NEEDED.format(why=error)) from error


def include_dir():
    for directory in (INSIDE, BESIDE):
        if (directory / HEADER).exists():
            return str(directory)
    raise SystemExit(NEEDED.format(why=f"{HEADER} is not in {BESIDE}: install from a checkout of netfathom"))


setup(
    py_modules=[],
    ext_modules=[
        Extension(
            "netfathom_mark",
            ["src/netfathom_mark.c"],
            include_dirs=[include_dir()],
            depends=[str(Path(include_dir()) / HEADER)],
            # One build serves this version of Python and all later ones.
            define_macros=[("Py_LIMITED_API", "0x03080000")],
            py_limited_api=True,
        )
    ],
    cmdclass={"sdist": Sdist, "build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp38"}},
)
