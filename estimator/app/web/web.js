// The page: controls to a question, a question to an answer, which is drawn.
(() => {
  "use strict";
  const { element, contents, size } = drawn;
  // Where the batch's slider stops.
  const BATCHES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096];
  const PAUSE = 350;  // ms without a move, after which what would help is asked for

  // Which settings have a control, in their order; what each takes is the engine's to say.
  const SHOWN = ["batch", "image", "precision", "optimizer"];
  const MORE = ["mode", "checkpoint", "accumulate", "finetune", "lora_rank", "quantize", "gpus", "fsdp", "tp", "compile"];
  const NARROW = 820;  // px, as in web.css: there the answer stands below the controls
  const LABELS = { gpus: "GPUs", tp: "tensor parallel (tp)", fsdp: "FSDP over", lora_rank: "LoRA rank", compile: "torch.compile",
                   accumulate: "passes per update", image: "image side" };

  const controls = document.getElementById("controls"), place = document.getElementById("answer");
  const fields = new Map();  // by the setting's name
  const slider = element("input", { type: "range", min: "0", max: String(BATCHES.length - 1), step: "1" });
  let sizes = "", pause = 0;

  const show = (answer) => {
    document.getElementById("plimsoll-result").textContent = JSON.stringify(answer).replaceAll("<", "\\u003c");
    document.getElementById("command").textContent = question.command();
    place.replaceChildren(...contents(answer).filter((part) => part !== null));
  };
  // What stops the engine, such as want of memory, leaves nothing to ask again.
  const stopped = (fault) => {
    place.replaceChildren(element("p", { class: "notice" }, `The engine stopped: ${fault.message}. Reload the page.`));
    document.body.dataset.drawn = "false";
  };
  const guarded = (act) => { try { act(); } catch (fault) { stopped(fault); } };
  const helped = () => {
    const answer = JSON.parse(engine.answerWithRemedies(question.text()));
    show(answer);
    document.body.dataset.helped = "true";
  };
  const update = () => {
    clearTimeout(pause);
    const began = performance.now();
    const answer = JSON.parse(engine.answer(question.text()));
    document.body.dataset.milliseconds = (performance.now() - began).toFixed(1);
    history.replaceState(null, "", `#${question.link()}`);
    show(answer);
    if (answer.schema === "plimsoll.estimate") { showSizes(answer); showDefaults(answer); }
    document.body.dataset.drawn = "true";
    if (answer.schema === "plimsoll.estimate" && answer.result.verdict !== "fits") pause = setTimeout(() => guarded(helped), PAUSE);
    else document.body.dataset.helped = "true";
  };
  const give = (name, text) => { question.set(name, text); guarded(update); };

  const labelled = (text, field, title = "", wide = false) =>
    element("label", { title, class: wide ? "wide" : "" }, text, field);
  const count = (name, low) => {
    const field = element("input", { type: "number", min: String(low), step: "1", inputmode: "numeric", name });
    field.addEventListener("input", () => give(name, field.value));
    return field;
  };
  const choice = (name, words, first) => {
    const field = element("select", { name }, ...(first === null ? [] : [element("option", { value: "" }, first)]),
      ...words.map(([word, text]) => element("option", { value: word }, text)));
    field.addEventListener("change", () => give(name, field.value));
    return field;
  };
  const text = (name, hint) => {
    const field = element("input", { type: "text", name, placeholder: hint, spellcheck: "false" });
    field.addEventListener("change", () => give(name, field.value.trim()));
    return field;
  };

  const fieldOf = (row) => {
    if (row.switch) return choice(row.name, [["true", "on"]], "off");
    if (row.words.length > 0) return choice(row.name, row.words.map((word) => [word, word]), row.default || "not set");
    if (row.high > 0) return count(row.name, row.low);
    return text(row.name, row.default || row.placeholder);
  };

  // A size of the model's own, such as its sequence; the model says which it has.
  const showSizes = (answer) => {
    const symbols = Object.keys(answer.input.symbols).filter((s) => !["batch", "height", "width"].includes(s));
    const wanted = symbols.join(" ");
    const batch = fields.get("batch"), image = fields.get("image");
    image.parentNode.hidden = !("height" in answer.input.symbols);
    image.placeholder = answer.input.symbols.height || "";
    batch.placeholder = answer.input.batch;
    const near = BATCHES.findIndex((size) => size >= answer.input.batch);
    slider.value = String(near < 0 ? BATCHES.length - 1 : near);
    if (wanted !== sizes) {
      for (const old of sizes ? sizes.split(" ") : []) {
        fields.get(`dim.${old}`).parentNode.remove();
        fields.delete(`dim.${old}`);
      }
      for (const symbol of symbols) {
        const name = `dim.${symbol}`, field = count(name, 1);
        field.value = question.get(name);
        fields.set(name, field);
        slider.parentNode.after(labelled(symbol, field));
      }
      sizes = wanted;
    }
    for (const symbol of symbols) fields.get(`dim.${symbol}`).placeholder = answer.input.symbols[symbol];
  };

  // What holds where nothing is chosen is the answer's to say.
  const showDefaults = (answer) => {
    for (const [name, field] of fields) {
      const said = answer.assumed.find((a) => a.setting.replaceAll("-", "_") === name);
      if (field.tagName === "SELECT" && field.options[0].value === "" && said) field.options[0].textContent = said.text;
    }
  };

  const take = async (file) => {
    engine.give(file.name, new Uint8Array(await file.arrayBuffer()));
    question.forget("dim.");
    question.set("config", "");
    question.set("model", file.name);
    fields.get("model").value = file.name;
    guarded(update);
  };
  const paste = (pasted) => {
    if (pasted.trim() === "") return;
    engine.give(question.PASTED, new TextEncoder().encode(pasted));
    question.forget("dim.");
    question.set("model", question.PASTED);
    question.set("config", pasted);
    fields.get("model").value = question.PASTED;
    guarded(update);
  };

  slider.addEventListener("input", () => {
    fields.get("batch").value = String(BATCHES[slider.value]);
    give("batch", fields.get("batch").value);
  });

  const modelControls = (models) => {
    const field = element("input", { type: "text", name: "model", list: "models", spellcheck: "false" });
    field.addEventListener("change", () => {
      question.forget("dim.");
      question.set("config", "");
      give("model", field.value.trim());
    });
    const file = element("input", { type: "file", accept: ".json,.onnx,.gz" });
    file.addEventListener("change", () => { if (file.files.length > 0) take(file.files[0]); });
    const area = element("textarea", { spellcheck: "false", placeholder: "{ \"model_type\": \"llama\", ... }" });
    area.addEventListener("input", () => paste(area.value));
    fields.set("model", field);
    controls.append(
      labelled("model", field, "a published configuration, or a network that travels with Plimsoll", true),
      element("datalist", { id: "models" }, ...models.map((m) => element("option", { value: m.name }, m.about))),
      element("details", { class: "wide" }, element("summary", {}, "your own model"),
        labelled("a file: config.json, an ONNX model, a record of from_torch()", file),
        labelled("or a config.json, pasted", area)));
  };

  const build = ({ models, gpus, settings }) => {
    modelControls(models);
    const gpu = choice("gpu", gpus.map((g) => [g.id, `${g.name}, ${size(g.memory_bytes)}`]), null);
    fields.set("gpu", gpu);
    controls.append(labelled("GPU", gpu, "", true));
    const add = (place, name) => {
      const row = settings.find((s) => s.name === name), field = fieldOf(row);
      fields.set(name, field);
      place.append(labelled(LABELS[name] || name.replaceAll("_", " "), field, row.help));
      if (name === "batch") place.append(labelled("batch, moved", slider));
    };
    for (const name of SHOWN) add(controls, name);
    const more = element("div", { class: "grid" });
    for (const name of MORE) add(more, name);
    const folded = element("details", { class: "wide" }, element("summary", {}, "more settings"), more);
    folded.open = innerWidth > NARROW;
    controls.append(folded);
  };

  const readLink = () => {
    question.fromLink(location.hash.slice(1));
    const pasted = question.get("config");
    if (pasted) engine.give(question.PASTED, new TextEncoder().encode(pasted));
    for (const [name, field] of fields) field.value = question.get(name);
  };

  const start = async () => {
    await engine.start(document.getElementById("engine").textContent);
    build(JSON.parse(engine.choices()));
    readLink();
    update();
    addEventListener("hashchange", () => { readLink(); guarded(update); });
    addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
    addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (event.dataTransfer.files.length > 0) take(event.dataTransfer.files[0]);
    });
  };
  controls.addEventListener("submit", (event) => event.preventDefault());
  start().catch(stopped);
})();
