// A step on several GPUs, with what chart_tools.js lends: what runs when, in lanes.
const laneCharts = (lent) => {
  "use strict";

  const { ms, inTime, tips } = lent;

  const KINDS = [["input copy", "#cc79a7"], ["forward", "#56b4e9"], ["loss", "#009e73"], ["backward", "#0072b2"],
    ["gradients of weights", "#f0e442"], ["update", "#e69f00"], ["other stages", "#949494"], ["host", "#5f6b76"], ["exchange", "#d55e00"]];
  const FIRST = KINDS.map(([kind]) => kind);
  // Several kinds are one span where they are too short to be shown.
  const kindOf = (what) => FIRST.find((kind) => what.split(", ").includes(kind)) || "exchange";

  const spansOf = (lane, spans) => spans.map((s) => ({
    lane, kind: kindOf(s.what), what: s.what, count: s.count, x: ms(s.begin_ns), x2: ms(s.end_ns),
    full: s.end_ns > s.begin_ns ? Math.min(1, s.busy_ns / (s.end_ns - s.begin_ns)) : 1,
    begins: inTime(s.begin_ns), busy: inTime(s.busy_ns),
  }));

  const chart = (lanes, step, height, width, description) => {
    const values = lanes.flatMap(([name, spans]) => spansOf(name, spans));
    const shown = KINDS.filter(([kind]) => values.some((v) => v.kind === kind));
    return {
      description, height, data: { values },
      mark: { type: "bar", height: { band: 0.8 } },
      encoding: {
        y: { field: "lane", type: "nominal", title: null, sort: lanes.map(([name]) => name), scale: { domain: lanes.map(([name]) => name) } },
        x: { field: "x", type: "quantitative", title: "milliseconds since the step began", scale: { domain: [0, ms(step)], nice: false } },
        x2: { field: "x2" },
        color: { field: "kind", type: "nominal", title: null,
                 legend: { orient: "top", columns: Math.max(1, Math.floor((0.7 * width) / 110)) },
                 scale: { domain: shown.map((k) => k[0]), range: shown.map((k) => k[1]) } },
        opacity: { field: "full", type: "quantitative", legend: null, scale: { domain: [0, 1], range: [0.3, 1] } },
        tooltip: tips(["lane", "what", "count", "begins", "busy"]),
      },
    };
  };

  // Of an estimate, or of the first of a cluster's plans.
  const stepOf = (result) => (result.time || result.advice[0]).step_ns;

  const lanes = ({ result }, width) => {
    const { gpu, axes } = result.lanes;
    const all = [["GPU", gpu], ...axes.map((l) => [`${l.axis}, ${l.ranks} GPUs`, l.spans])];
    return chart(all, stepOf(result), 28 * all.length, width, "A step of one GPU and its exchanges; the tables below have the figures");
  };
  const stages = ({ result }, width) => {
    const all = result.lanes.stages.map((l) => [`stage ${l.stage}`, l.spans]);
    return chart(all, stepOf(result), Math.max(12, Math.min(24, 480 / all.length)) * all.length, width, "The passes of each stage; the table below has the figures");
  };

  return { lanes, stages };
};
