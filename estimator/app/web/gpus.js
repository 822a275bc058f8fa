// A step on several GPUs: what one of them does, the exchanges along each axis and, of a pipeline, the stages, in lanes.
const gpus = (() => {
  "use strict";
  const { size, time, element, section, table, bars, key, swatch } = marks;

  // By kind, the class of its colour.
  const KINDS = { "input copy": "copied", forward: "forwards", loss: "scored", backward: "backwards", "gradients of weights": "weighed",
                  update: "updated", "other stages": "idle", host: "hosted", exchange: "exchanged" };
  const kindOf = (what) => Object.keys(KINDS).find((kind) => what.split(", ").includes(kind)) || "exchange";

  // A row of bars(): spans of a lane, one path for those of a kind. Of joined spans the busy part is as high as it is long.
  const row = (name, spans, step, text) => {
    const paths = {};
    for (const s of spans) {
      const length = s.end_ns - s.begin_ns, high = length > 0 ? Math.max(0.2, Math.min(1, s.busy_ns / length)) : 1;
      const x = (1000 * s.begin_ns) / step, width = Math.max(0.4, (1000 * length) / step);
      const kind = kindOf(s.what);
      paths[kind] = `${paths[kind] || ""}M${x.toFixed(1)} ${(1 - high).toFixed(2)}h${width.toFixed(1)}V1h${(-width).toFixed(1)}z`;
    }
    const drawing = element("svg", { class: "lane", viewBox: "0 0 1000 1", preserveAspectRatio: "none", role: "img", "aria-label": `${name}: what runs when` },
      ...Object.entries(paths).map(([kind, d]) => element("path", { class: KINDS[kind], d })));
    return [element("span", { class: "name" }, name), element("span", { class: "value" }, text), element("span", { class: "track" }, drawing)];
  };
  const shownKinds = (lanes) => {
    const all = new Set(lanes.flatMap((spans) => spans.map((s) => kindOf(s.what))));
    return Object.keys(KINDS).filter((kind) => all.has(kind)).map((kind) => swatch(KINDS[kind], kind));
  };

  const drawn = ({ result }) => {
    if (!result.lanes) return null;
    const { gpu, axes, stages = [] } = result.lanes, step = result.time.step_ns;
    const nameOf = (l) => `${l.axis}, ${l.ranks} GPUs`;
    const links = axes.map((l) => [nameOf(l), String(l.collectives), l.link || "", l.link ? size(l.link_bytes) : "", l.network || "",
      l.network ? size(l.network_bytes) : "", time(l.busy_ns), time(l.waited_ns)]);
    return section("One step on several GPUs",
      "The first lane is the slowest GPU: it waits where the lane is empty. Below it are the exchanges along each axis, with the time that the GPU waits for them.",
      bars([row("GPU", gpu, step, time(step)), ...axes.map((l) => row(nameOf(l), l.spans, step, time(l.waited_ns)))]),
      stages.length === 0 ? null : element("p", {}, "The stages of the pipeline. All but the slowest are drawn alike:"),
      bars(stages.map((l) => row(`stage ${l.stage}`, l.spans, step, ""))),
      key(...shownKinds([gpu, ...axes.map((l) => l.spans), ...stages.map((l) => l.spans)])),
      axes.length === 0 ? null : element("details", {}, element("summary", {}, "what one GPU sends over which link"),
        table("exchanges of one GPU in a step", [["axis"], ["exchanges", true], ["link"], ["sent", true], ["network"], ["sent", true], ["time", true], ["waited for", true]], links)));
  };

  return { drawn };
})();
