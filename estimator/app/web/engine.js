// The engine: WebAssembly, in a worker or in the page. A question goes in, an answer comes out, both as JSON.
const engine = (() => {
  "use strict";
  let exports = null;

  const start = async (module) => {
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.imports(module) });
    wasi.attach(instance);
    instance.exports._initialize();
    exports = instance.exports;
  };
  // What the engine's function `call` answers, and how long it took.
  const ask = (call, question) => {
    const began = performance.now();
    const text = new TextEncoder().encode(question);
    const room = exports.plimsoll_room(text.length);
    new Uint8Array(exports.memory.buffer, room, text.length).set(text);
    const size = exports[call]();
    const answer = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.plimsoll_text(), size).slice());
    return { answer, milliseconds: performance.now() - began };
  };
  // A file, by its name; what was compiled of another with that name is forgotten.
  const give = (name, bytes) => {
    wasi.files.set(name, bytes);
    exports.plimsoll_forget();
  };
  return { start, ask, give };
})();

// As a worker, which has no document.
if (typeof document === "undefined") {
  const told = (act) => {
    try { return { ...act() }; } catch (fault) { return { fault: fault.message }; }
  };
  onmessage = async ({ data: { module, name, bytes, call, question } }) => {
    if (module) postMessage(await engine.start(module).then(() => ({ started: true }), (fault) => ({ fault: fault.message })));
    else if (call) postMessage(told(() => engine.ask(call, question)));
    else engine.give(name, bytes);
  };
}
