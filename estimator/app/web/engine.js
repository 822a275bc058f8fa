// The engine: WebAssembly that stands in the page, compressed. answer() takes a question and gives
// an answer, both as JSON.
const engine = (() => {
  "use strict";
  const MOST_AT_ONCE = 8 << 20;  // Chromium's limit for the thread of a page
  let exports = null;

  const unpacked = async (base64) => {
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const ask = (call, question) => {
    const text = new TextEncoder().encode(question);
    const room = exports.plimsoll_room(text.length);
    new Uint8Array(exports.memory.buffer, room, text.length).set(text);
    const size = exports[call]();
    return new TextDecoder().decode(
      new Uint8Array(exports.memory.buffer, exports.plimsoll_text(), size).slice());
  };

  return {
    start: async (base64) => {
      const bytes = await unpacked(base64);
      // At once where browsers compile so much at once: there is nothing to do meanwhile.
      const module = bytes.length < MOST_AT_ONCE ? new WebAssembly.Module(bytes) : await WebAssembly.compile(bytes);
      const imports = { wasi_snapshot_preview1: wasi.imports(module) };
      const instance = bytes.length < MOST_AT_ONCE ? new WebAssembly.Instance(module, imports)
        : await WebAssembly.instantiate(module, imports);
      wasi.attach(instance);
      instance.exports._initialize();
      exports = instance.exports;
    },
    choices: () => ask("plimsoll_choices", ""),
    answer: (question) => ask("plimsoll_answer", question),
    answerWithRemedies: (question) => ask("plimsoll_answer_with_remedies", question),
    give: (name, bytes) => wasi.files.set(name, bytes),
  };
})();
