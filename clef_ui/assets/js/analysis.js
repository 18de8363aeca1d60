// An analysis that asks the model: what it would read, the button that starts and stops it, how far it is, and whether
// its result still belongs to what is asked.
(() => {
  "use strict";
  const { h, replace, call, debounce, setText, shown, on, fingerprint } = window.clef;
  const POLL_MS = 250;

  // parts: name (of the panel), title, lead, verb, fields (elements) and options() of its own, cost(plan) the sentence
  // before a run with `plan.ready` false when there is nothing to do, draw(view) the result, begun() when a run begins.
  window.clef.analysis = (root, panel, parts) => {
    let running = null; // {id, started}
    let plan = null;
    let view = null;
    const planned = { asked: null, sequence: 0, visible: false };

    const button = h("button.btn.analysis-run", { type: "button", onclick: () => (running ? stop() : start()) }, parts.verb);
    const bar = h("progress.clef-progress", { max: 1, hidden: true, "aria-label": parts.title });
    const cost = h("span.analysis-cost.num", { role: "status" }, "counting…");
    const fault = h("div.note.bad", { role: "alert", hidden: true });
    const old = h("div.note.analysis-old", { hidden: true }, h("span", {}, h("b", {}, "Out of date. "), "This belongs to an earlier state, media, schema or limit."),
      h("button.btn.small", { type: "button", onclick: () => start() }, "Run again"));
    const result = h("div.analysis-result");
    const heading = h("h3", { id: `clef-${parts.name}-title` }, parts.title);
    root.classList.add("clef-analysis");
    replace(root, h("section", { "aria-labelledby": heading.id }, heading, h("p.muted.lead", {}, parts.lead),
      h("div.analysis-bar", {}, button, parts.fields, h("div.analysis-meter", {}, bar, cost)), fault, old, result));

    const asked = () => JSON.stringify([fingerprint(window.clef.draft), parts.options()]);

    const fetchPlan = debounce(220, async () => {
      const { draft } = window.clef;
      if (!draft || !planned.visible || running || asked() === planned.asked) return;
      planned.asked = asked();
      const sequence = ++planned.sequence;
      try {
        const found = await call(panel.server, "plan", { draft, options: parts.options() });
        if (sequence === planned.sequence) plan = found;
      } catch (error) {
        if (sequence === planned.sequence) plan = { problem: error.message };
      }
      if (sequence === planned.sequence) drawBar();
    });

    function start(options = null) {
      const { draft } = window.clef;
      if (running || !draft) return;
      running = { id: `${parts.name}-${Date.now()}-${Math.random().toString(16).slice(2)}`, started: performance.now() };
      panel.props.value = JSON.stringify({ draft, options: options || parts.options(), run: running.id });
      panel.trigger("submit");
      fail("");
      parts.begun?.();
      drawBar();
      follow(running);
    }

    function stop() {
      if (!running) return;
      call(panel.server, "cancel", running.id).catch(() => {});
      end();
      setText(cost, view ? "Stopped. What is shown is from before." : "Stopped.");
    }

    function end() {
      running = null;
      planned.asked = null;
      drawBar();
      fetchPlan();
    }

    async function follow(mine) {
      let lost = 0;
      while (running === mine) {
        try {
          const { stage, share } = await call(panel.server, "progress", mine.id);
          lost = 0;
          if (running === mine) show(stage, share);
        } catch {
          lost += 1;
          if (lost > 8 && running === mine) {
            end();
            fail("The server does not answer. Is the program still running?");
          }
        }
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    }

    function show(stage, share) {
      if (share === null || share === undefined) bar.removeAttribute("value");
      else bar.value = share;
      const seconds = Math.floor((performance.now() - running.started) / 1000);
      setText(cost, seconds < 1 ? stage : `${stage}, ${seconds} s`);
    }

    function fail(text) {
      fault.hidden = !text;
      replace(fault, shown(text));
    }

    function drawBar() {
      setText(button, running ? "Stop" : parts.verb);
      bar.hidden = !running;
      if (running) {
        button.disabled = false;
        bar.removeAttribute("value");
        setText(cost, "running…");
      } else if (plan) {
        button.disabled = Boolean(plan.problem) || !parts.ready(plan);
        setText(cost, plan.problem ? `Possible once this is mended: ${plan.problem}` : parts.cost(plan));
      }
      cost.classList.toggle("problem", Boolean(!running && plan?.problem));
    }

    function drawAge() {
      old.hidden = !view || fingerprint(view.sent) === fingerprint(window.clef.draft);
      root.classList.toggle("old", !old.hidden);
    }

    // What Python says at the end: {run, ok, view} or {run, ok, message, stopped}.
    function finish(outcome) {
      if (!running || outcome.run !== running.id) return;
      end();
      if (outcome.ok) {
        view = outcome.view;
        replace(result, parts.draw(view));
        drawAge();
      } else if (!outcome.stopped) fail(outcome.message);
    }

    panel.watch("result", () => {
      try { finish(JSON.parse(panel.props.result)); } catch { /* empty before the first run */ }
    });
    on("analysis-failed", (name) => {
      if (!running || name !== parts.name) return;
      end();
      fail("This was not taken: too many are waiting. Try again in a moment.");
    });
    on("draft", () => { drawAge(); fetchPlan(); });
    root.addEventListener("input", (event) => { if (event.target.matches("input[data-option]")) fetchPlan(); });
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && running) {
        event.preventDefault();
        stop();
      } else if (event.key === "Enter" && event.target.matches("input[data-option]") && !event.ctrlKey && !event.metaKey && !button.disabled) {
        event.preventDefault();
        start();
      }
    });
    new IntersectionObserver((entries) => {
      planned.visible = entries.at(-1).isIntersecting;
      if (planned.visible) fetchPlan();
    }).observe(root);
    return { start };
  };
})();
