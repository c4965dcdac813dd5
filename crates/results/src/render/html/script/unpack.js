// What the page carries squeezed.

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function unpacked(id) {
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('this browser cannot unpack it: open the report in one of 2023 or later');
  }
  const squeezed = new Blob([bytesOf(document.getElementById(id).textContent.trim())]);
  const stream = squeezed.stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
