// The controls of a question: a field for each setting, a slider for sizes and counts. What each takes is the engine's to say.
const controls = (() => {
  "use strict";
  const { element, size } = marks;
  // Where sliders stop.
  const doubled = (from, to) => { const all = []; for (let n = from; n <= to; n *= 2) all.push(n); return all; };
  const LADDERS = {
    batch: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096],
    image: [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 448, 512, 640, 768, 1024],
    gpus: doubled(1, 256), nodes: doubled(1, 32), tp: doubled(1, 16),
  };
  const LENGTHS = [16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384, 32768, 65536, 131072];

  // Which settings have a control, in their order, and what stands at it.
  const GROUPS = [
    ["", ["batch", "image", "precision", "optimizer"], false],
    ["Several GPUs", ["gpus", "nodes", "network", "fsdp", "zero", "tp"], false],
    ["Less memory, more speed", ["checkpoint", "accumulate", "finetune", "lora_rank", "quantize", "compile", "mode"], false],
  ];
  const LABELS = { gpus: "GPUs, of all machines", nodes: "machines", network: "network between machines", tp: "tensor parallel (tp)",
                   fsdp: "FSDP", zero: "ZeRO stage", lora_rank: "LoRA rank", compile: "torch.compile", accumulate: "passes per update",
                   image: "image side", finetune: "fine-tuning", checkpoint: "recomputation" };
  const UNSET = { fsdp: "off", zero: "off", network: "none" };
  const USUAL_NETWORK = "infiniband-ndr";
  const NARROW = 820;  // px, as in web.css: there the answer stands below the controls
  const FEW = 8;       // values that a list shows better than a field

  const form = document.getElementById("controls");
  const fields = new Map();   // by the setting's name: the field that is typed in or chosen from
  const sliders = new Map();  // by the setting's name: [slider, ladder]
  let change = () => {}, rows = [], sizes = "";

  const show = (name, text) => {
    fields.get(name).value = text;
    if (sliders.has(name)) showSlider(name, Number(text) || Number(fields.get(name).placeholder));
  };
  const showSlider = (name, at) => {
    const [slider, ladder] = sliders.get(name);
    const near = ladder.findIndex((stop) => stop >= at);
    slider.value = String(near < 0 ? ladder.length - 1 : near);
    slider.setAttribute("aria-valuetext", String(at || ""));
  };
  const give = (name, text) => {
    question.set(name, text);
    if (sliders.has(name)) showSlider(name, Number(text) || Number(fields.get(name).placeholder));
    if (name === "nodes" && Number(text) > 1 && question.get("network") === "") {
      question.set("network", USUAL_NETWORK);
      show("network", USUAL_NETWORK);
    }
    change();
  };

  const labelled = (text, field, title = "", wide = false) =>
    element("label", { title, class: wide ? "wide" : "" }, element("span", {}, text), field);
  const choice = (name, words, first) => {
    const field = element("select", { name }, ...(first === null ? [] : [element("option", { value: "" }, first)]),
      ...words.map(([word, text]) => element("option", { value: word }, text)));
    field.addEventListener("change", () => give(name, field.value));
    return field;
  };
  const typed = (name, attributes, event, read = (text) => text) => {
    const field = element("input", { name, spellcheck: "false", ...attributes });
    field.addEventListener(event, () => give(name, read(field.value)));
    return field;
  };
  const count = (name, low) => typed(name, { type: "number", min: String(low), step: "1", inputmode: "numeric" }, "input");
  // A count, and a slider over the values that people try.
  const slid = (name, text, low, ladder, title) => {
    const field = count(name, low);
    const slider = element("input", { type: "range", min: "0", max: String(ladder.length - 1), step: "1", value: "0", "aria-label": `${text}, by steps` });
    fields.set(name, field);
    sliders.set(name, [slider, ladder]);
    slider.addEventListener("input", () => {
      field.value = String(ladder[slider.value]);
      give(name, field.value);
    });
    return element("div", { class: "slid wide", title }, element("label", {}, element("span", {}, text), field), slider);
  };

  const wordsOf = (row, networks) => {
    if (row.name === "network") return networks.map((n) => [n.id, n.name]);
    if (row.switch) return [["true", "on"]];
    if (row.high > 0 && row.high - row.low < FEW)
      return Array.from({ length: row.high - row.low + 1 }, (_, i) => [String(row.low + i), String(row.low + i)]);
    return row.words.map((word) => [word, word]);
  };
  const controlOf = (name, networks) => {
    const row = rows.find((s) => s.name === name), text = LABELS[name] || name.replaceAll("_", " ");
    if (LADDERS[name]) {
      const control = slid(name, text, row.low, LADDERS[name], row.help);
      fields.get(name).placeholder = /^\d+$/.test(row.default) ? row.default : "";
      return control;
    }
    const words = wordsOf(row, networks);
    const field = words.length > 0 ? choice(name, words, row.switch ? "off" : row.default || UNSET[name] || "not set")
      : row.high > 0 ? count(name, row.low)
      : typed(name, { type: "text", placeholder: row.default || row.placeholder }, "change", (t) => t.trim());
    if (row.high > 0 && field.tagName === "INPUT") field.placeholder = /^\d+$/.test(row.default) ? row.default : "";
    fields.set(name, field);
    return labelled(text, field, row.help);
  };

  // Another model: its sizes are others, and a pasted text is none of it.
  const takeModel = (name, pasted) => {
    question.forget("dim.");
    question.set("config", pasted);
    question.set("model", name);
    fields.get("model").value = name;
    change();
  };
  const takeFile = async (file) => {
    lanes.give(file.name, new Uint8Array(await file.arrayBuffer()));
    takeModel(file.name, "");
  };
  const takeText = (pasted) => {
    if (pasted.trim() === "") return;
    lanes.give(question.PASTED, new TextEncoder().encode(pasted));
    takeModel(question.PASTED, pasted);
  };
  const modelControls = (models) => {
    const field = element("input", { type: "text", name: "model", list: "models", spellcheck: "false" });
    field.addEventListener("change", () => takeModel(field.value.trim(), ""));
    const file = element("input", { type: "file", accept: ".json,.onnx,.gz", name: "file" });
    file.addEventListener("change", () => { if (file.files.length > 0) takeFile(file.files[0]); });
    const area = element("textarea", { name: "pasted", spellcheck: "false", placeholder: "{ \"model_type\": \"llama\", ... }" });
    area.addEventListener("input", () => takeText(area.value));
    fields.set("model", field);
    form.append(
      labelled("model", field, "a published configuration, or a network that travels with Plimsoll", true),
      element("datalist", { id: "models" }, ...models.map((m) => element("option", { value: m.name }, m.about))),
      element("details", { class: "wide" }, element("summary", {}, "Your own model"),
        labelled("a file, chosen or dropped: config.json, an ONNX model, a record of from_torch()", file),
        labelled("or a config.json, pasted", area)));
  };

  const build = ({ models, gpus, networks, settings }, changed) => {
    change = changed;
    rows = settings;
    modelControls(models);
    const gpu = choice("gpu", gpus.map((g) => [g.id, `${g.name}, ${size(g.memory_bytes)}`]), null);
    fields.set("gpu", gpu);
    form.append(labelled("GPU", gpu, "", true));
    for (const [title, names] of GROUPS) {
      const made = names.map((name) => controlOf(name, networks));
      if (title === "") { form.append(...made); continue; }
      const group = element("details", { class: "wide" }, element("summary", {}, title), element("div", { class: "grid" }, ...made));
      group.open = innerWidth > NARROW;
      form.append(group);
    }
    addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
    addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      if (event.dataTransfer.files.length > 0) takeFile(event.dataTransfer.files[0]);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  };

  // A size of the model's own, such as its sequence; the model says which it has.
  const own = (answer) => Object.keys(answer.input.symbols).filter((s) => !["batch", "height", "width"].includes(s));
  const showSizes = (answer) => {
    const wanted = own(answer).join(" ");
    if (wanted !== sizes) {
      for (const old of sizes ? sizes.split(" ") : []) {
        fields.get(`dim.${old}`).closest(".slid").remove();
        fields.delete(`dim.${old}`);
        sliders.delete(`dim.${old}`);
      }
      for (const symbol of own(answer).reverse()) {
        fields.get("batch").closest(".slid").after(slid(`dim.${symbol}`, symbol, 1, LENGTHS, ""));
        fields.get(`dim.${symbol}`).value = question.get(`dim.${symbol}`);
      }
      sizes = wanted;
    }
    const image = fields.get("image");
    image.closest(".slid").hidden = !("height" in answer.input.symbols);
    const now = { batch: answer.input.batch, image: answer.input.symbols.height || "" };
    for (const symbol of own(answer)) now[`dim.${symbol}`] = answer.input.symbols[symbol];
    for (const [name, at] of Object.entries(now)) {
      fields.get(name).placeholder = at;
      showSlider(name, Number(at));
    }
  };
  // What holds where nothing is chosen is the answer's to say.
  const showDefaults = (answer) => {
    for (const [name, field] of fields) {
      const said = answer.assumed.find((a) => a.setting.replaceAll("-", "_") === name);
      if (field.tagName === "SELECT" && field.options[0].value === "" && said) field.options[0].textContent = said.text;
    }
  };

  return {
    build,
    showAnswer: (answer) => { showSizes(answer); showDefaults(answer); },
    showQuestion: () => {
      const pasted = question.get("config");
      if (pasted) lanes.give(question.PASTED, new TextEncoder().encode(pasted));
      for (const name of fields.keys()) show(name, question.get(name));
    },
    // What a sweep may go over: names, how they are called, values that are worth trying.
    axes: () => [...fields].filter(([name, field]) => name !== "model" && !field.closest("[hidden]")).map(([name, field]) => ({
      name, text: name === "gpu" ? "GPU" : field.closest("label").querySelector("span").textContent,
      ladder: sliders.has(name) ? sliders.get(name)[1] : null,
      words: field.tagName === "SELECT" ? [...field.options].map((o) => o.value).filter((v) => v !== "") : null,
    })),
    now: (name) => fields.get(name).value || fields.get(name).placeholder,
  };
})();
