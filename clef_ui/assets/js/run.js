// The bar that stays in sight: run and stop, how the run goes, what the record costs, and the last larger change.
(() => {
  "use strict";
  const { h, replace, append, on, emit, call, tokens, setText, shown } = window.clef;
  const PARTS = ["prefix", "media", "state", "schema", "suffix"];
  const POLL_MS = 250;

  // randomUUID is missing on pages served over plain http from another machine
  const newId = () => globalThis.crypto?.randomUUID?.() || `run-${Date.now()}-${Math.random().toString(16).slice(2)}`;

  // `api`: getDraft(), panel, server, focusProblem(problem)
  window.clef.runBar = (container, api) => {
    let running = null; // {id, started}
    let plan = null;
    const run = h("button.btn.primary.clef-run", { type: "button", onclick: () => (running ? stop() : start()) }, "Run");
    const hint = h("span.muted.small.clef-hint", {}, "Ctrl ↵");
    const bars = PARTS.map((part) => h("i", { class: `part-${part}` }));
    const mini = h("div.mini", { "aria-hidden": "true" }, bars);
    const bar = h("progress.clef-progress", { max: 1, hidden: true, "aria-label": "Run" });
    const cost = h("span.num.small.clef-cost", {}, "counting…"); // not spoken: it changes with every key
    const faults = h("button.clef-place.clef-faults", { type: "button", hidden: true, onclick: () => api.focusProblem(plan.problems[0]) });
    const live = h("div.clef-visually-hidden", { role: "status" });
    const said = h("span", { role: "status" });
    const act = h("button.btn.small", { type: "button", hidden: true });
    const dismiss = h("button.btn.ghost.small", { type: "button", "aria-label": "Dismiss", onclick: () => notify("") }, "×");
    const notice = h("div.clef-notice", { hidden: true }, said, h("span.grow"), act, dismiss);
    append(container, [notice, h("div.clef-runrow", {}, run, hint, h("div.clef-meter", {}, mini, bar), cost, faults), live]);

    // One sentence about what just happened; `action` [label, function] offers the way back.
    function notify(text, { bad = false, action = null } = {}) {
      notice.hidden = !text;
      notice.classList.toggle("bad", bad);
      replace(said, shown(text));
      act.hidden = !action;
      if (!action) return;
      act.textContent = action[0];
      act.onclick = () => { notify(""); action[1](); };
    }

    // `byItself`: the page runs its first example; then it stays where it is.
    function start({ byItself = false } = {}) {
      if (running || !api.getDraft()) return;
      const draft = api.getDraft();
      running = { id: newId(), started: performance.now(), byItself };
      api.panel.props.value = JSON.stringify({ ...draft, view: { ...draft.view, run: running.id, place: window.clef.place } });
      api.panel.trigger("submit");
      if (notice.classList.contains("bad")) notify("");
      setText(live, "Running. Escape stops it.");
      draw();
      emit("run-started", { draft });
      follow(running);
    }

    function stop({ quietly = false } = {}) {
      if (!running) return;
      call(api.server, "cancel", running.id).catch(() => {});
      end();
      if (!quietly) notify("Stopped. The answers on the page are from before.");
    }

    // For another request altogether: what is running is given up.
    function restart() {
      stop({ quietly: true });
      start({ byItself: true });
    }

    function end() {
      running = null;
      draw();
      emit("run-ended", {});
    }

    // The answer itself comes as an event; this asks how far the run is, and notices when nobody is there any more.
    async function follow(mine) {
      let lost = 0;
      while (running === mine) {
        try {
          const { stage, share } = await call(api.server, "progress", mine.id);
          lost = 0;
          if (running === mine) show(stage, share);
        } catch {
          lost += 1;
          if (lost > 8 && running === mine) {
            end();
            notify("The server does not answer. Is the program still running? What you typed is kept.", { bad: true });
            return;
          }
        }
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }

    function show(stage, share) {
      const seconds = (performance.now() - running.started) / 1000;
      if (share === null || share === undefined) bar.removeAttribute("value");
      else bar.value = share;
      setText(cost, seconds < 1 ? stage : `${stage}, ${Math.floor(seconds)} s`);
    }

    function draw() {
      setText(run, running ? "Stop" : "Run");
      run.classList.toggle("stop", Boolean(running));
      setText(hint, running ? "Esc" : "Ctrl ↵");
      bar.hidden = !running;
      mini.hidden = Boolean(running);
      if (running) {
        bar.removeAttribute("value");
        setText(cost, "running…");
        faults.hidden = true;
      } else drawPlan();
    }

    function drawPlan() {
      if (running) return;
      if (!plan) return setText(cost, "");
      const { parts, limit, total, problems, cut, exact } = plan;
      faults.hidden = !problems.length;
      setText(faults, problems.length === 1 ? "1 problem" : `${problems.length} problems`);
      bars.forEach((element, index) => {
        const share = limit > 0 ? parts[PARTS[index]] / limit : 0;
        element.style.width = `${Math.min(100, 100 * share)}%`;
      });
      const about = exact ? "" : "about ";
      const over = total > limit;
      const isPart = problems.some((problem) => problem.area !== "limits"); // what cannot be read is not counted
      cost.classList.toggle("clef-over", over || Boolean(cut));
      setText(cost, !total ? "" : over ? `${about}${tokens(total)} tokens, over the limit of ${tokens(limit)}`
        : `${about}${tokens(total)} of ${tokens(limit)} tokens, ${cut ? `${tokens(cut.lostTokens)} cut from the state` : isPart ? "without what is wrong" : "nothing cut"}`);
      return undefined;
    }

    // What Python says at the end of a run: {run, ok, stopped, message, problems}
    api.panel.watch("feedback", () => {
      let feedback;
      try { feedback = JSON.parse(api.panel.props.feedback || "null"); } catch { return; }
      if (!feedback || !running || feedback.run !== running.id) return;
      const { byItself } = running;
      end();
      if (feedback.ok || feedback.stopped) {
        if (feedback.ok) setText(live, "The answers are there.");
        if (feedback.ok && !byItself && matchMedia("(max-width: 900px)").matches) document.querySelector("#clef-tabs")?.scrollIntoView({ block: "start" });
        return;
      }
      notify(feedback.message, { bad: true });
      if (feedback.problems?.length) api.focusProblem(feedback.problems[0]);
    });
    on("run-failed", () => {
      if (!running) return;
      end();
      notify("The run was not taken: too many are waiting. Try again in a moment; what you typed is kept.", { bad: true });
    });
    on("run", () => start());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        start();
      } else if (event.key === "Escape" && running && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        stop();
      }
    }, true);

    return {
      notify,
      start,
      stop,
      restart,
      applyPlan(view) { plan = view; drawPlan(); },
    };
  };
})();
