// The page: controls to a question, a question to an answer, which is drawn.
(() => {
  "use strict";
  const { element } = marks;
  const PAUSE = 250;  // ms without a move, after which what takes longer is asked for

  const head = document.getElementById("head"), place = document.getElementById("answer"), swept = document.getElementById("sweep");
  const tabs = [...document.querySelectorAll("[role=tab]")];
  let front = null, back = null;  // lanes: of what follows a move, and of what takes longer
  let latest = null, pause = 0, isAsking = false, isStale = false, isBehind = false;

  const isSweep = () => question.get("view") === "sweep";
  const widthOf = () => Math.max(280, place.parentElement.clientWidth);
  const show = (answer, text) => {
    head.replaceChildren(...drawn.head(answer));
    place.replaceChildren(...drawn.contents(answer, widthOf()));
    document.getElementById("plimsoll-result").textContent = text.replaceAll("<", "\\u003c");
  };
  // What stops an engine, such as want of memory, leaves nothing to ask again.
  const stopped = (fault) => {
    head.replaceChildren(element("p", { class: "notice" }, `The engine stopped: ${fault.message}. Reload the page.`));
    document.body.dataset.drawn = "false";
  };

  const helped = async () => {
    const text = question.text();
    const { answer } = await back.ask("plimsoll_answer_with_remedies", text);
    if (text === question.text() && !isStale) { show(JSON.parse(answer), answer); document.body.dataset.helped = "true"; }
  };
  const isToHelp = () => latest.schema === "plimsoll.estimate" && latest.result.verdict !== "fits";
  // One thing at a time on the lane behind; what changed meanwhile is asked when it is done.
  const behind = async () => {
    if (isBehind) { sweep.end(); pause = setTimeout(behind, PAUSE); return; }
    isBehind = true;
    try {
      back ??= await lanes.open();
      if (isSweep()) await sweep.run(back, controls.axes());
      else if (isToHelp()) await helped();
    } catch (fault) { stopped(fault); }
    isBehind = false;
  };

  // The answer to what is asked now; moves during an answer are taken together.
  const update = async () => {
    clearTimeout(pause);
    isStale = true;
    if (isAsking) return;
    isAsking = true;
    const began = performance.now();
    try {
      while (isStale) {
        isStale = false;
        document.body.dataset.helped = "false";
        const { answer, milliseconds } = await front.ask("plimsoll_answer", question.text());
        latest = JSON.parse(answer);
        history.replaceState(null, "", `#${question.link()}`);
        document.getElementById("command").textContent = question.command();
        show(latest, answer);
        if (latest.schema === "plimsoll.estimate") controls.showAnswer(latest);
        document.body.dataset.milliseconds = milliseconds.toFixed(1);
      }
      document.body.dataset.followed = (performance.now() - began).toFixed(1);
      document.body.dataset.drawn = "true";
      if (isSweep() || !isToHelp()) document.body.dataset.helped = "true";
      if (isSweep() || isToHelp()) pause = setTimeout(behind, PAUSE);
    } catch (fault) { stopped(fault); }
    isAsking = false;
  };

  const showView = () => {
    for (const tab of tabs) {
      const isOn = (tab.id === "to-sweep") === isSweep();
      tab.setAttribute("aria-selected", String(isOn));
      tab.tabIndex = isOn ? 0 : -1;
    }
    place.hidden = isSweep();
    swept.hidden = !isSweep();
  };
  const view = (name) => {
    question.set("view", name);
    showView();
    update();
  };
  const openCell = (settings) => {
    for (const [name, text] of Object.entries(settings)) question.set(name, text);
    controls.showQuestion();
    view("");
    scrollTo({ top: 0 });
  };
  const readLink = () => {
    question.fromLink(location.hash.slice(1));
    controls.showQuestion();
    showView();
  };
  const useTabs = () => {
    for (const tab of tabs) {
      tab.addEventListener("click", () => view(tab.id === "to-sweep" ? "sweep" : ""));
      tab.addEventListener("keydown", ({ key }) => {
        if (!["ArrowLeft", "ArrowRight"].includes(key)) return;
        const other = tabs.find((t) => t !== tab);
        other.focus();
        other.click();
      });
    }
  };

  const start = async () => {
    await lanes.start(document.getElementById("engine").textContent);
    front = await lanes.open();
    controls.build(JSON.parse((await front.ask("plimsoll_choices", "")).answer), update);
    sweep.use(update, openCell);
    readLink();
    useTabs();
    addEventListener("hashchange", () => { readLink(); update(); });
    let width = widthOf();
    addEventListener("resize", () => {
      if (!latest || widthOf() === width) return;
      width = widthOf();
      place.replaceChildren(...drawn.contents(latest, width));
    });
    await update();
  };
  start().catch(stopped);
})();
