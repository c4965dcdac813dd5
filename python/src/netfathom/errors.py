"""Why a run, or a part of it, cannot be had. Each says what to do."""


class NetfathomError(Exception):
    """Any of them."""


class NotARunError(NetfathomError):
    """There is no such run, or it is something else."""


class DamagedError(NetfathomError):
    """The record is no whole JSON, or lacks what every record has."""


class NewerSchemaError(NetfathomError):
    """The record was written by a netfathom that is newer than this package."""


class NoSamplesError(NetfathomError):
    """The run has no single messages."""


class MissingLibraryError(NetfathomError):
    """A package is wanted that is not installed."""
