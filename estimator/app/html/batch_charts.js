// Charts of batches, or of another size that varies, and the slider that goes through those that were answered.
const batchCharts = (lent) => {
  "use strict";

  const { ROLES, TITLES, VERDICTS, gib, inGib, inTime, paceOf, roleColour, tips, rule } = lent;
  const PARAMS = [{ name: "chosen", value: 0 }];
  const HERE = [{ filter: "datum.size == chosen" }];

  // What was answered, by size: round ones, and what was asked for.
  const pointsOf = ({ input, result }) => {
    const points = (result.batches || result).rounds.map((p) => ({ ...p, size: p.size || p.batch }));
    if (result.memory && !points.some((p) => p.size === input.batch))
      points.push({ size: input.batch, device_bytes: result.memory.device_bytes, range: result.memory.device_range_bytes,
        verdict: result.verdict, step_ns: result.time.step_ns, samples_per_second: result.time.samples_per_second,
        parts: result.memory.peak.parts });
    return points.sort((a, b) => a.size - b.size);
  };
  const varies = ({ result }) => result.vary || "batch";
  const usableOf = ({ result }) => result.device.usable_bytes;
  const unitOf = ({ result }) => (result.time ? paceOf([result.time.sample_unit]) : "throughput");

  // Which sizes fit, as zones behind the figures.
  const zonesOf = (document_) => {
    const { safe, may_fit: [, last] } = document_.result.batches || document_.result;
    const points = pointsOf(document_);
    if (points.length === 0) return null;
    const end = 1.08 * Math.max(points.at(-1).size, last); // what is beyond is seen to be
    const zones = [["safe", 0, Math.min(safe, end)], ["may fit", safe, Math.min(last, end)], ["does not fit", Math.max(safe, last), end]]
      .filter(([, from, to]) => to > from).map(([zone, from, to]) => ({ zone, from, to }));
    const x = { field: "size", type: "quantitative", title: varies(document_), scale: { domain: [0, end], nice: false },
      axis: { tickMinStep: 1, format: "~d" } };
    const back = { data: { values: zones }, mark: { type: "rect", opacity: 0.22 },
      encoding: { x: { ...x, field: "from" }, x2: { field: "to" },
        color: { field: "zone", type: "nominal", title: null, legend: { orient: "top" },
                 scale: { domain: ["safe", "may fit", "does not fit"], range: Object.values(VERDICTS).map((v) => v[1]) } } } };
    const here = { data: { values: points.map(({ size }) => ({ size })) }, transform: HERE,
      mark: { type: "rule", color: "currentColor", strokeDash: [2, 2] }, encoding: { x } };
    return { points, x, back, here };
  };

  const batch_memory = (document_) => {
    const drawn = zonesOf(document_);
    if (!drawn) return null;
    const { points, x, back, here } = drawn;
    const values = points.map((p) => ({ size: p.size, y: gib(p.device_bytes), low: gib(p.range[0]), high: gib(p.range[1]), peak: inGib(p.device_bytes) }));
    const y = { field: "y", type: "quantitative", title: "GiB" };
    return {
      description: "Device memory against the batch, with its range; the table below has its figures",
      keys: [["line", `usable on the GPU ${inGib(usableOf(document_))}`]],
      height: 220, params: PARAMS,
      layer: [
        back,
        { data: { values }, mark: { type: "area", opacity: 0.25, color: "#2b8cd0" },
          encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" } } },
        { data: { values }, mark: { type: "line", point: { size: 30, color: "#2b8cd0" }, color: "#2b8cd0" },
          encoding: { x, y, tooltip: tips(["size", "peak"]) } },
        rule(gib(usableOf(document_)), [1, 0]),
        here,
      ],
    };
  };

  const batch_pace = (document_) => {
    const drawn = zonesOf(document_);
    if (!drawn) return null;
    const { points, x, back, here } = drawn;
    const values = points.map((p) => ({ size: p.size, pace: p.samples_per_second, step: inTime(p.step_ns) }));
    back.encoding.color.legend = null;
    return {
      description: "Throughput against the batch; the table below has its figures",
      height: 150, params: PARAMS,
      layer: [
        back,
        { data: { values }, mark: { type: "line", point: { size: 30, color: "#2b8cd0" }, color: "#2b8cd0" },
          encoding: { x, y: { field: "pace", type: "quantitative", title: unitOf(document_) },
            tooltip: [{ field: "size", type: "nominal" }, { field: "pace", type: "quantitative", format: ".1f" }, { field: "step", type: "nominal" }] } },
        here,
      ],
    };
  };

  // What fills the peak of the chosen size, on an axis that stays.
  const batch_parts = (document_, width) => {
    const points = pointsOf(document_).filter((p) => p.parts);
    if (points.length === 0) return null;
    const values = points.flatMap((p) => p.parts.map((part) => ({ size: p.size, role: TITLES[part.part],
      order: ROLES.findIndex(([id]) => id === part.part), y: gib(part.bytes), bytes: inGib(part.bytes) })));
    const ranges = points.map((p) => ({ size: p.size, low: gib(p.range[0]), high: gib(p.range[1]) }));
    const usable = gib(usableOf(document_));
    const shown = ROLES.filter(([, title]) => values.some((v) => v.role === title));
    const x = { field: "y", type: "quantitative", title: "GiB",
      scale: { domain: [0, 1.02 * Math.max(usable, ...ranges.map((r) => r.high))], nice: false } };
    return {
      description: "Device memory at the peak of the chosen batch, by role, against the GPU's memory",
      keys: [["line", `usable on the GPU ${inGib(usableOf(document_))}`], ["dashed", "range of the prediction"]],
      height: 48, params: PARAMS,
      layer: [
        { data: { values }, transform: HERE, mark: { type: "bar", size: 30 },
          encoding: { x: { ...x, stack: "zero" }, color: roleColour(shown, width), order: { field: "order", type: "quantitative" },
            tooltip: tips(["role", "bytes"]) } },
        { data: { values: ranges }, transform: HERE, mark: { type: "rule", color: "currentColor", strokeDash: [4, 3], y: 44, y2: 44 },
          encoding: { x: { ...x, field: "low" }, x2: { field: "high" } } },
        { data: { values: [{ y: usable }] }, mark: { type: "rule", color: "currentColor", strokeWidth: 1.5 }, encoding: { x } },
      ],
    };
  };

  const SLID = ["batch_parts", "batch_memory", "batch_pace"];

  const told = (document_, p) => {
    const [verdict] = VERDICTS[p.verdict];
    const pace = p.samples_per_second.toFixed(p.samples_per_second < 100 ? 1 : 0);
    return [[`verdict ${p.verdict}`, verdict.toUpperCase()], ["", `${varies(document_)} ${p.size}: ${inGib(p.device_bytes)} of ${inGib(usableOf(document_))} `
      + `(range ${inGib(p.range[0])} to ${inGib(p.range[1])}), ${inTime(p.step_ns)} a step, ${pace} ${unitOf(document_)}`]];
  };

  // The slider goes before the chart of parts; `set` gives the charts the size that was chosen.
  const addSlider = (document_, set) => {
    const chart = document.getElementById("chart-batch_parts");
    if (!chart) return;
    const points = pointsOf(document_);
    if (points.length < 2) return;
    const wanted = document_.result.memory ? document_.input.batch : document_.result.safe;
    const slider = Object.assign(document.createElement("input"), { type: "range", id: "size-slider", min: 0, max: points.length - 1, step: 1 });
    slider.value = Math.max(0, points.findIndex((p) => p.size === wanted));
    const label = Object.assign(document.createElement("label"), { htmlFor: slider.id, textContent: varies(document_) });
    const output = Object.assign(document.createElement("output"), { htmlFor: slider.id });
    const box = Object.assign(document.createElement("div"), { className: "slider" });
    const show = () => {
      const point = points[slider.value];
      output.replaceChildren(...told(document_, point).map(([className, textContent]) =>
        Object.assign(document.createElement("span"), { className, textContent })));
      slider.setAttribute("aria-valuetext", `${varies(document_)} ${point.size}`);
      set(SLID, point.size);
    };
    slider.addEventListener("input", show);
    box.append(label, slider, output);
    const key = chart.previousElementSibling;
    (key && key.className === "key" ? key : chart).before(box);
    show();
  };

  return { charts: { batch_parts, batch_memory, batch_pace }, addSlider };
};
