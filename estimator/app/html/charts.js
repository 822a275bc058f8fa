// Draws the charts of the result that is in the page, each in the element that names it. Nothing is computed here but
// units and places: what a chart shows is in the result, and in a table beside it.
(() => {
  "use strict";

  const tools = chartTools();
  const batches = batchCharts(tools), lists = listCharts(tools);
  const CHARTS = { ...estimateCharts(tools), ...batches.charts, ...lists.charts, ...planCharts(tools), ...laneCharts(tools), ...watchCharts(tools) };
  // The ways in which a chart can be drawn, where the result says them.
  const VARIANTS = lists.variants;

  const CONFIG = {
    background: null, font: 'system-ui, "DejaVu Sans", sans-serif', view: { stroke: null },
    axis: { labelColor: "currentColor", titleColor: "currentColor", domainColor: "currentColor", tickColor: "currentColor",
            gridColor: "currentColor", gridOpacity: 0.15, titleFontWeight: "normal", labelOverlap: "parity", labelSeparation: 6 },
    axisBand: { labelOverlap: false },
    axisXQuantitative: { labelFlush: 20 }, // labels near an end stay within the picture
    axisLeft: { minExtent: 38 },
    legend: { labelColor: "currentColor", titleColor: "currentColor", titleFontWeight: "normal", labelLimit: 300 },
  };

  const drawn = new Map(); // by element: its variant, and the view once there is one

  // What lines and signs of a chart mean, as text above it: text in the picture would lie over other text.
  const showKeys = (element, keys) => {
    const before = element.previousElementSibling;
    const box = before && before.classList.contains("key") ? before : Object.assign(document.createElement("p"), { className: "key" });
    box.replaceChildren(...keys.map(([sign, text]) => {
      const key = document.createElement("span");
      if (sign) key.append(Object.assign(document.createElement("i"), { className: sign }));
      key.append(text);
      return key;
    }));
    if (keys.length > 0) element.before(box); else box.remove();
  };

  const draw = async (element, document_, variant) => {
    const chart = CHARTS[element.dataset.chart](document_, element.clientWidth || element.parentElement.clientWidth, variant, element.dataset.of);
    if (!chart) return; // of nothing there is no picture
    const { keys = [], ...rest } = chart;
    showKeys(element, keys);
    const spec = { width: "container", autosize: { type: "fit-x", contains: "padding" }, ...rest };
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    // `ast`: expressions are interpreted, so that the page's policy need not allow eval.
    const { view } = await window.vegaEmbed(element, spec, { mode: "vega-lite", ast: true, actions: false, renderer: "svg",
      config: CONFIG, tooltip: { theme: dark ? "dark" : "light" } });
    drawn.set(element, { variant, view });
  };

  const chosenOne = (element, variants, choose) => {
    const select = document.createElement("select");
    select.append(...variants.map(([value, text]) => Object.assign(document.createElement("option"), { value, textContent: text })));
    select.addEventListener("change", () => choose(select.value));
    const label = document.createElement("label");
    label.append("by ", select);
    return [label];
  };

  const chosenOf = (element, variants, choose) => variants.map(([value, text], i) => {
    const input = Object.assign(document.createElement("input"), { type: "radio", name: element.id, checked: i === 0 });
    input.addEventListener("change", () => choose(value));
    const label = document.createElement("label");
    label.append(input, ` by ${text}`);
    return label;
  });

  // For charts that can be drawn in several ways: data-variants="launch time", or what VARIANTS says.
  const addToggle = (element, document_) => {
    const fromResult = VARIANTS[element.dataset.chart];
    const variants = fromResult ? fromResult(document_) : (element.dataset.variants || "").split(" ").filter(Boolean).map((v) => [v, v]);
    if (variants.length < 2) return variants.length > 0 ? variants[0][0] : undefined;
    const group = Object.assign(document.createElement("div"), { className: "toggle" });
    const few = variants.length <= 3;
    if (few) group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", "what the chart is drawn by");
    group.append(...(few ? chosenOf : chosenOne)(element, variants, (variant) => draw(element, document_, variant)));
    element.before(group);
    return variants[0][0];
  };

  const setSize = (names, size) => {
    for (const [element, { view }] of drawn) {
      if (names.includes(element.dataset.chart)) view.signal("chosen", size).runAsync();
    }
  };

  // Names are placed for a width: another has others.
  const redrawAtOtherWidths = (document_) => {
    let width = innerWidth, timer = 0, size = null;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      clearTimeout(timer);
      timer = setTimeout(async () => {
        for (const [element, { variant }] of [...drawn]) await draw(element, document_, variant);
        if (size) setSize(...size);
      }, 200);
    });
    return (...chosen) => setSize(...(size = chosen));
  };

  // The packed script runs as one of the page's own: its policy knows the text by its hash.
  const unpack = async () => {
    const packed = document.getElementById("vega");
    if (!packed) return false;
    const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    script.remove(); // it has run
    return Boolean(window.vegaEmbed);
  };

  const start = async () => {
    const result = JSON.parse(document.getElementById("plimsoll-result").textContent);
    if (await unpack()) {
      for (const element of document.querySelectorAll("[data-chart]"))
        await draw(element, result, addToggle(element, result));
      batches.addSlider(result, redrawAtOtherWidths(result));
    }
    document.documentElement.dataset.drawn = "true";
  };
  start();
})();
