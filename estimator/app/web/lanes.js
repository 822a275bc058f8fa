// Lanes: engines that answer one question after the other, each in a worker, so that the page stays free. Where a browser
// gives no worker to such a page the engine is in the page.
const lanes = (() => {
  "use strict";
  const files = new Map();  // by name: bytes, for lanes that open later
  const open = [];
  let module = null;

  const unpacked = async (base64) => {
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  const started = (worker) => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.started ? resolve() : reject(new Error(data.fault)));
    worker.onerror = worker.onmessageerror = () => reject(new Error("no worker"));
    worker.postMessage({ module });
  });
  const inWorker = async () => {
    const source = ["wasi-script", "engine-script"].map((id) => document.getElementById(id).textContent).join("\n");
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    await started(worker);
    return {
      give: (name, bytes) => worker.postMessage({ name, bytes }),
      ask: (call, question) => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => (data.fault ? reject(new Error(data.fault)) : resolve(data));
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage({ call, question });
      }),
    };
  };
  const inPage = async () => {
    await engine.start(module);
    return { give: engine.give, ask: async (call, question) => engine.ask(call, question) };
  };

  return {
    start: async (base64) => { module = await WebAssembly.compile(await unpacked(base64)); },
    // A lane. Its ask() is awaited before the next.
    open: async () => {
      const lane = await inWorker().catch(inPage);
      for (const [name, bytes] of files) lane.give(name, bytes);
      open.push(lane);
      return lane;
    },
    give: (name, bytes) => {
      files.set(name, bytes);
      for (const lane of open) lane.give(name, bytes);
    },
    has: (name) => files.has(name),
  };
})();
