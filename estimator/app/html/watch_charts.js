// Charts of a watched run (`plimsoll schema monitor`, with moments), with what chart_tools.js lends.
const watchCharts = (lent) => {
  "use strict";

  const { GIB, inGib, rule, cut } = lent;
  const MIB = 2 ** 20;
  const PHASES = [["growing", "#56b4e9"], ["steady", "#009e73"], ["shrinking", "#e69f00"]];
  const LINES = ["#0072b2", "#d55e00", "#cc79a7", "#5f6b76", "#009e73", "#e69f00", "#56b4e9", "#b8a800"];
  const X = { field: "seconds", type: "quantitative", title: "seconds", scale: { nice: false } };

  const phases = ({ phases }) => ({
    data: { values: phases }, mark: { type: "rect", opacity: 0.13 },
    encoding: { x: { ...X, field: "begin" }, x2: { field: "end" },
      color: { field: "kind", type: "nominal", title: null, legend: { orient: "top" },
               scale: { domain: PHASES.map((p) => p[0]), range: PHASES.map((p) => p[1]) } } },
  });

  // Lines of the moments: [name, a moment's figure or nothing]. Each holds until the next begins.
  const lines = (result, series, title, height, before = { layers: [], keys: [] }, unit = "") => {
    const shown = series.filter(([, figure]) => result.moments.some((m) => figure(m) != null));
    if (shown.length === 0) return null;
    const values = shown.flatMap(([name, figure]) => {
      const points = result.moments.map((m) => ({ seconds: m.seconds, name, y: figure(m) }));
      const end = Math.max(result.seconds, points.at(-1).seconds);
      return [...points, { ...points.at(-1), seconds: end }];
    });
    const y = { field: "y", type: "quantitative", title };
    return {
      description: `${title} over time; the table below has the figures`,
      keys: before.keys,
      height,
      resolve: { scale: { color: "independent" } },
      layer: [
        phases(result),
        ...before.layers,
        { data: { values }, mark: { type: "line", interpolate: "step-after", strokeWidth: 1.6 },
          encoding: { x: X, y, color: { field: "name", type: "nominal", title: null, legend: { orient: "bottom", columns: 4 },
            scale: { domain: shown.map((s) => s[0]), range: LINES } } } },
        { data: { values: values.filter((v) => v.y != null).map((v) => ({ ...v, figure: `${v.y.toFixed(1)}${unit}` })) },
          params: [{ name: "near", select: { type: "point", on: "pointerover", clear: "pointerout", nearest: true } }],
          mark: { type: "point", filled: true, size: 40, color: "currentColor" },
          encoding: { x: X, y, opacity: { condition: { param: "near", empty: false, value: 0.8 }, value: 0 },
            tooltip: ["name", "seconds", "figure"].map((field) => ({ field, type: "nominal" })) } },
      ],
    };
  };

  const memory = (result, what, series, predicted) => {
    const most = Math.max(...result.moments.flatMap((m) => series.map(([, figure]) => figure(m) || 0)),
      predicted ? predicted.range_bytes[1] : 0);
    const [unit, name] = most < GIB ? [MIB, "MiB"] : [GIB, "GiB"];
    const before = { layers: [], keys: [] };
    if (predicted) {
      const [low, high] = predicted.range_bytes;
      before.keys.push(["dashed", `predicted ${inGib(predicted.bytes)} (${inGib(low)} to ${inGib(high)})`]);
      before.layers.push(
        { data: { values: [{ low: low / unit, high: high / unit }] }, mark: { type: "rect", color: "currentColor", opacity: 0.14 },
          encoding: { y: { field: "low", type: "quantitative" }, y2: { field: "high" } } },
        rule(predicted.bytes / unit, [4, 3]));
    }
    return lines(result, series.map(([title, figure]) => [title, (m) => (figure(m) == null ? null : figure(m) / unit)]),
      `${what}, ${name}`, 260, before, ` ${name}`);
  };

  const card = ({ gpus }, i) => `GPU ${i}${gpus[i] && gpus[i].name ? `, ${cut(gpus[i].name, 30)}` : ""}`;
  const cards = (result, figure) => result.gpus.map((_, i) => [card(result, i), (m) => (m.gpus[i] ? figure(m.gpus[i]) : null)]);
  const percent = (share) => (share == null ? null : 100 * share);

  const watched_gpu_memory = ({ result }) =>
    memory(result, "GPU memory", cards(result, (gpu) => gpu.bytes), result.prediction && result.prediction.device_memory);
  const watched_host_memory = ({ result }) =>
    memory(result, "host memory", [["host, shared pages once", (m) => m.host_bytes], ["PSS, as last read", (m) => m.pss_bytes]],
      result.prediction && result.prediction.host_memory);
  const watched_load = ({ result }) =>
    lines(result, [["CPU (100 % is one core)", (m) => percent(m.cpu_share)], ...cards(result, (gpu) => percent(gpu.utilisation))],
      "% busy", 150, undefined, " %");
  const watched_power = ({ result }) => lines(result, cards(result, (gpu) => gpu.power_watts), "watts", 150, undefined, " W");

  return { watched_gpu_memory, watched_host_memory, watched_load, watched_power };
};
