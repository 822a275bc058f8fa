// Charts of a cluster's plans (`plimsoll schema advise`), with what chart_tools.js lends.
const planCharts = (lent) => {
  "use strict";

  const { VERDICTS, gib, ms, inGib, inTime, paceOf, verdictColour, tips, plotWidth, named, ABOVE } = lent;

  // Each plan in memory and throughput, against the card's memory.
  const plans = ({ result }, width) => {
    const values = result.advice.map((p, i) => ({ plan: p.flags, label: String(i + 1), verdict: VERDICTS[p.verdict][0],
      x: gib(p.device_bytes), y: p.samples_per_second, peak: inGib(p.device_bytes), update: inTime(p.step_ns) }));
    if (values.length === 0) return null;
    const usable = gib(result.device.usable_bytes), height = 300, plot = plotWidth(width);
    const right = 1.05 * Math.max(usable, ...values.map((v) => v.x)), top = 1.1 * Math.max(...values.map((v) => v.y));
    const x = { field: "x", type: "quantitative", title: "peak memory of a GPU, GiB", scale: { domain: [0, right], nice: false } };
    const y = { field: "y", type: "quantitative", title: paceOf([result.sample_unit]), scale: { domain: [0, top], nice: false } };
    const points = values.map((v) => ({ x: plot * (v.x / right), y: height * (1 - v.y / top), text: v.label, datum: v }));
    const card = plot * (usable / right);
    return {
      description: "Throughput against peak memory of each plan; the table below has the figures",
      keys: [["line", `usable on the GPU ${inGib(result.device.usable_bytes)}`], ["", "numbers: the plans below"]],
      height,
      layer: [
        { data: { values: [{ x: usable }] }, mark: { type: "rule", color: "currentColor", strokeWidth: 1.5 }, encoding: { x } },
        { data: { values }, mark: { type: "point", filled: true, size: 70, opacity: 0.9 },
          encoding: { x, y, color: verdictColour(values.map((v) => v.verdict)), tooltip: tips(["plan", "verdict", "peak", "update"]) } },
        ...named(points, plot, height, { x, y }, ABOVE, [[card - 2, 0, card + 2, height]]),
      ],
    };
  };

  // What an update of each plan waits for.
  const plan_steps = ({ result }, width) => {
    const kinds = [["kernels", "#0072b2", (p) => p.step_ns - p.communication_ns - p.bubble_ns],
      ["exchanges", "#e69f00", (p) => p.communication_ns], ["other stages", "#949494", (p) => p.bubble_ns]]
      .filter(([, , of]) => result.advice.some((p) => of(p) > 0));
    const values = result.advice.flatMap((p, i) => kinds.map(([kind, , of], order) =>
      ({ plan: `${i + 1}: ${p.flags}`, kind, order, y: ms(of(p)), time: inTime(of(p)) })));
    if (values.length === 0) return null;
    return {
      description: "Time of an update of each plan by what it waits for; the table below has the figures",
      height: 20 * result.advice.length, data: { values }, mark: "bar",
      encoding: {
        y: { field: "plan", type: "nominal", title: null, sort: null, axis: { labelLimit: Math.min(420, 0.4 * width) } },
        x: { field: "y", type: "quantitative", title: "milliseconds per update" },
        color: { field: "kind", type: "nominal", title: null, legend: { orient: "top", columns: Math.max(1, Math.floor(0.6 * width / 110)) },
                 scale: { domain: kinds.map((k) => k[0]), range: kinds.map((k) => k[1]) } },
        order: { field: "order", type: "quantitative" },
        tooltip: tips(["plan", "kind", "time"]),
      },
    };
  };

  return { plans, plan_steps };
};
