// The roofline: how fast kernels compute, by how much they compute for each byte, under what the card can do at most.
const roofline = (() => {
  "use strict";
  const { element, section, key, swatch, time, rate, short } = marks;
  const BOUNDS = { compute: "limited by compute", dram: "by memory", l2: "by the L2 cache", latency: "by latency" };
  const FORMS = { kinds: "kinds of kernels", kernels: "kernels", layers: "layers" };
  const MOST_DOTS = 60, MOST_NAMED = 9, LEAST = 2e-4;  // of the step: what takes less is no dot
  const HEIGHT = 300, LEFT = 52, RIGHT = 12, TOP = 14, BOTTOM = 34, LINE = 15, GAP = 5;

  const sum = (dots) => ({ name: dots[0].name, ns: dots.reduce((all, d) => all + d.ns, 0), flop: dots.reduce((all, d) => all + d.flop, 0),
    bytes: dots.reduce((all, d) => all + d.bytes, 0), bound: dots.reduce((longest, d) => (d.ns > longest.ns ? d : longest)).bound });
  const launches = ({ kernels }) => kernels.map((k) => (
    { name: k.kernel, ns: k.total_ns, flop: k.flop * k.count, bytes: k.bytes * k.count, bound: k.bound_by }));
  const kinds = (times) => {
    const classes = times.by_class.map((c) => c.class).sort((a, b) => b.length - a.length);
    const groups = new Map();
    for (const kernel of launches(times)) {
      const kind = classes.find((name) => kernel.name.startsWith(name)) || kernel.name;
      groups.set(kind, [...(groups.get(kind) || []), kernel]);
    }
    return [...groups].map(([name, dots]) => ({ ...sum(dots), name }));
  };
  const layers = (all) => all.flatMap((l) => ["forward", "backward"].map((pass) => (
    { name: `${l.node} ${pass}`, ns: l[`${pass}_ns`], flop: l[`flop_${pass}`], bytes: l[`bytes_${pass}`],
      bound: l.bound_by[pass] || l.bound_by.backward_weights || l.bound_by.backward_data || l.bound_by.forward })));
  const dotsOf = ({ time: times, layers: all }, form) => (form === "layers" ? layers(all) : form === "kernels" ? launches(times) : kinds(times))
    .filter((d) => d.flop > 0 && d.bytes > 0 && d.ns > LEAST * times.gpu_ns).sort((a, b) => b.ns - a.ns).slice(0, MOST_DOTS)
    .map((d) => ({ ...d, along: d.flop / d.bytes, up: (d.flop / d.ns) * 1e9 }));

  // A logarithmic axis from the least to the largest, and powers of ten, or 1, 2 and 5 of them, on it.
  const axis = (values, from, to) => {
    const low = Math.log10(Math.min(...values)) - 0.15, high = Math.log10(Math.max(...values)) + 0.3;
    const steps = high - low < 2 ? [1, 2, 5] : [1];
    const ticks = [];
    for (let power = Math.floor(low); power <= high; ++power)
      for (const step of steps) ticks.push(step * 10 ** power);
    return { at: (value) => from + ((to - from) * (Math.log10(value) - low)) / (high - low), low: 10 ** low, high: 10 ** high,
             ticks: ticks.filter((tick) => tick >= 10 ** low && tick <= 10 ** high) };
  };

  const pen = document.createElement("canvas").getContext("2d");
  const widthOf = (text) => { pen.font = "12px system-ui, \"DejaVu Sans\", sans-serif"; return pen.measureText(text).width * 1.06; };
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  // Where a text of that width stands beside a dot, the first place that is free; null where none is.
  const placed = (dot, width, taken, room) => {
    const beside = dot.radius + GAP, half = LINE / 2, near = 0.7 * dot.radius + 2;
    const places = [[dot.x + beside, dot.y - half], [dot.x - beside - width, dot.y - half],
                    [dot.x - width / 2, dot.y - beside - LINE], [dot.x - width / 2, dot.y + beside]];
    // Further away, where dots are many: a thin line leads there.
    for (const away of [0, 1, 2, 3, 4, 5].map((n) => n * 0.8 * LINE))
      places.push([dot.x + near + away, dot.y + near + away], [dot.x - near - away - width, dot.y - near - away - LINE],
                  [dot.x + near, dot.y + near + away], [dot.x - near - width, dot.y - near - away - LINE]);
    for (const [left, top] of places) {
      const box = { left, top, right: left + width, bottom: top + LINE };
      const isInside = left >= room.left && box.right <= room.right && top >= room.top && box.bottom <= room.bottom;
      if (isInside && !taken.some((other) => meet(box, other))) return box;
    }
    return null;
  };
  const line = (kind, x1, y1, x2, y2) => element("line", { class: kind, x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1) });
  const label = (kind, x, y, text, anchor = "start") =>
    element("text", { class: kind, x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, text);

  const axes = (svg, x, y, room) => {
    for (const tick of x.ticks) {
      svg.append(line("grid", x.at(tick), room.top, x.at(tick), room.bottom));
      svg.append(label("tick", x.at(tick), room.bottom + LINE, tick.toLocaleString("en"), "middle"));
    }
    for (const tick of y.ticks) {
      svg.append(line("grid", room.left, y.at(tick), room.right, y.at(tick)));
      svg.append(label("tick", room.left - GAP, y.at(tick) + 4, rate(tick, "").replace("/s", "").replace(/\.0+ /, " "), "end"));
    }
    svg.append(label("tick", (room.left + room.right) / 2, HEIGHT - 3, "FLOP for each byte", "middle"));
  };

  // What the card can do at most; its two figures stand at its ends, and are taken.
  const roof = (svg, x, y, room, peak, bandwidth, taken) => {
    if (!peak || !bandwidth) return;
    const ridge = peak / bandwidth, from = Math.max(x.low, y.low / bandwidth), to = Math.min(ridge, x.high);
    svg.append(line("roof", x.at(from), y.at(bandwidth * from), x.at(to), y.at(bandwidth * to)));
    if (ridge < x.high) svg.append(line("roof", x.at(ridge), y.at(peak), room.right, y.at(peak)));
    // No name stands on the line.
    const steps = 40, height = (across) => Math.max(y.at(peak), y.at(bandwidth * from) - (across - x.at(from)) * slope);
    const slope = (y.at(bandwidth * from) - y.at(bandwidth * to)) / (x.at(to) - x.at(from) || 1);
    for (let step = 0; step < steps; ++step) {
      const left = x.at(from) + ((room.right - x.at(from)) * step) / steps, right = left + (room.right - x.at(from)) / steps;
      taken.push({ left, right, top: height(right) - 1, bottom: height(left) + 1 });
    }
    const named = (text, places) => {
      const width = widthOf(text);
      const box = places.map((right) => ({ left: right - width, right, bottom: height(right) - 3, top: height(right) - 3 - LINE }))
        .find((at) => at.left >= room.left && at.right <= room.right && at.top >= 0 && !taken.some((other) => meet(at, other)));
      if (!box) return;
      svg.append(label("limit", box.left, box.bottom - 4, text));
      taken.push(box);
    };
    const flat = room.right - x.at(to), long = x.at(to) - x.at(from);
    named(rate(peak, "FLOP"), [1, 0.6, 0.8, 0.4, 0].map((part) => x.at(to) + flat * part));
    named(rate(bandwidth, "B"), [0.5, 0.35, 0.65, 0.8].map((part) => x.at(from) + long * part - GAP));
  };

  const chart = (result, form, width) => {
    const dots = dotsOf(result, form);
    if (dots.length === 0) return null;
    const { peak_flops: peak, bandwidth_bytes_per_second: bandwidth } = result.device;
    const room = { left: LEFT, right: width - RIGHT, top: TOP, bottom: HEIGHT - BOTTOM };
    const x = axis(dots.map((d) => d.along).concat(peak && bandwidth ? [peak / bandwidth] : []), room.left, room.right);
    const y = axis(dots.map((d) => d.up).concat(peak ? [peak] : []), room.bottom, room.top);
    const svg = element("svg", { class: "roofline", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
      "aria-label": `Roofline of ${dots.length} ${FORMS[form]}; the longest is ${dots[0].name}, ${BOUNDS[dots[0].bound] || ""}` });
    const taken = [];
    axes(svg, x, y, room);
    for (const dot of dots) {
      dot.radius = Math.max(3, Math.min(16, 26 * Math.sqrt(dot.ns / result.time.gpu_ns)));
      dot.x = x.at(dot.along);
      dot.y = y.at(dot.up);
      taken.push({ left: dot.x - dot.radius, right: dot.x + dot.radius, top: dot.y - dot.radius, bottom: dot.y + dot.radius });
      svg.append(element("circle", { class: `dot ${dot.bound}`, cx: dot.x.toFixed(1), cy: dot.y.toFixed(1), r: dot.radius.toFixed(1) },
        element("title", {}, `${dot.name}: ${time(dot.ns)}, ${short(dot.along)} FLOP for each byte, ${rate(dot.up, "FLOP")}`)));
    }
    roof(svg, x, y, room, peak, bandwidth, taken);
    for (const dot of dots.slice(0, MOST_NAMED)) {
      const text = dot.name.length > 34 ? `${dot.name.slice(0, 33)}\u2026` : dot.name, own = widthOf(text);
      const box = placed(dot, own, taken, room);
      if (!box) continue;
      taken.push(box);
      const across = Math.min(Math.max(dot.x, box.left), box.right), up = Math.min(Math.max(dot.y, box.top), box.bottom);
      if (Math.hypot(across - dot.x, up - dot.y) > dot.radius + LINE) svg.append(line("lead", dot.x, dot.y, across, up));
      svg.append(label("name", box.left, box.bottom - 4, text));
    }
    return svg;
  };

  let form = "kinds";  // stays as chosen from answer to answer
  const drawn = ({ result }, width) => {
    if (dotsOf(result, "kinds").length === 0) return null;
    const place = element("div", {}, chart(result, form, width));
    const select = element("select", { "aria-label": "dots of the roofline" },
      ...Object.entries(FORMS).map(([name, text]) => element("option", { value: name }, text)));
    select.value = form;
    select.addEventListener("change", () => {
      form = select.value;
      place.replaceChildren(...[chart(result, form, width)].filter((svg) => svg !== null));
    });
    const seen = new Set(launches(result.time).map((kernel) => kernel.bound));
    return section("Roofline", "Larger dots take more of the step. A dot on the line runs at the highest rate of the GPU.",
      element("label", { class: "inline" }, "dots are ", select), place,
      key(...Object.entries(BOUNDS).filter(([bound]) => seen.has(bound)).map(([bound, text]) => swatch(bound, text))));
  };
  return { drawn };
})();
