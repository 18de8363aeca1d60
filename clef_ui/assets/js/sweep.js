// The budget sweep: probabilities against the kept tokens of the state, as lines and as the same numbers in rows.
(() => {
  "use strict";
  const { h, replace, shown, tokens } = window.clef;
  const KEPT = "clef.sweep-chart"; // whether the reader wants the chart
  const MOST_LINES = 10;

  const wantsChart = () => { try { return localStorage.getItem(KEPT) !== "no"; } catch { return true; } };
  const keepChart = (open) => { try { localStorage.setItem(KEPT, open ? "yes" : "no"); } catch { /* private browsing: forgotten on reload */ } };

  window.clef.panels.sweep = (root, panel) => {
    const points = h("input", { type: "text", inputMode: "numeric", size: 22, "data-option": "points", placeholder: "16, spread evenly", autocomplete: "off" });
    const analysis = window.clef.analysis(root, panel, {
      name: "sweep",
      title: "How much of the state is needed?",
      lead: "Answers the questions with more and more of the state, from none to all of it, and says from where on no answer changes.",
      verb: "Sweep",
      fields: h("label.analysis-field", {}, "kept tokens to try", points),
      options: () => ({ points: points.value }),
      ready: (plan) => plan.points.length > 1,
      cost: (plan) => plan.points.length > 1
        ? `${plan.points.length} readings from ${tokens(plan.points[0])} to ${tokens(plan.points.at(-1))} of ${tokens(plan.state)} state tokens, ${tokens(plan.tokens)} tokens in all; a model that is loaded here reads what they share once, about ${tokens(plan.distinct)}.`
        : plan.state ? "One point is no sweep: name several." : "The state is empty.",
      begun: () => { if (wantsChart()) window.clef.charts.load().catch(() => {}); },
      draw: (view) => draw(view, closer),
    });

    function closer(view) {
      points.value = view.closer.join(" ");
      analysis.start();
    }
  };

  function draw(view, closer) {
    const place = h("div");
    const choice = h("select", { onchange: () => show(Number(choice.value)) }, view.questions.map((question, index) =>
      h("option", { value: String(index) }, `${shown(question.id).textContent}, ${question.enough ? "enough from " + tokens(view.points[question.enough]) : "never changes"}`)));
    const show = (index) => replace(place, chart(view, view.questions[index]), table(view, view.questions[index]));
    const first = Math.max(0, view.questions.findIndex((question) => question.enough === view.enough));
    choice.value = String(first);
    show(first);
    return [
      h("div.note.verdict", { role: "status" }, h("b", {}, shown(view.headline)), h("ul", {}, view.sentences.map((sentence) => h("li", {}, shown(sentence)))),
        view.closer.length > 0 && h("button.btn.small", { type: "button", onclick: () => closer(view) }, `Look closer between ${tokens(view.points[view.enough - 1])} and ${tokens(view.points[view.enough])}`),
        view.model.demonstration && h("p.muted", {}, shown(view.model.name), " is a small demonstration model; the large ones may need more of the state, or less.")),
      h("div.sweep-head", {}, h("label", {}, "question ", choice), h("span.muted.num", {}, `forward ${view.forward} for ${view.points.length} readings`)),
      place,
    ];
  }

  // The options that are ever likely; of many the likeliest are drawn, and the table has all.
  function likely(question) {
    const most = (place) => Math.max(...question.p.map((row) => row[place]));
    if (question.options.length <= MOST_LINES) return question.order;
    return [...question.order].sort((a, b) => most(b) - most(a)).slice(0, MOST_LINES);
  }

  function chart(view, question) {
    const drawn = likely(question);
    const place = h("div");
    const details = h("details.sweep-chart", { open: wantsChart() }, h("summary", {}, "Chart"), place,
      drawn.length < question.options.length && h("p.muted.small-note", {}, `The ${drawn.length} likeliest of ${question.options.length} options are drawn; the table has all.`));
    const fill = () => {
      if (!details.open) return replace(place);
      const marks = [{ x: view.points[question.enough], text: question.enough ? "enough from here" : "" }].filter((mark) => mark.text);
      if (view.asked < view.state && view.asked !== marks[0]?.x) marks.push({ x: view.asked, text: "limit set" });
      return replace(place, window.clef.charts.lines({
        label: `Probability of each option of ${question.id} against the kept tokens of the state. The table below has the same numbers.`,
        xTitle: "kept tokens of the state", x: view.points, marks, lines: drawn.map((option) => ({ name: question.options[option], y: question.p.map((row) => row[option]) })),
      }));
    };
    details.addEventListener("toggle", () => { keepChart(details.open); if (details.open !== Boolean(place.firstChild)) fill(); });
    fill();
    return details;
  }

  function table(view, question) {
    const remark = (index) => [index === question.enough && index > 0 && "enough from here", view.points[index] === view.asked && view.asked < view.state && "limit set"].filter(Boolean).join(", ");
    return h("div.scroll", { tabIndex: 0, role: "region", "aria-label": `Probabilities of ${question.id} by kept tokens` },
      h("table", {}, h("caption.clef-visually-hidden", {}, "Probability of each option with so many tokens of the state kept"),
        h("thead", {}, h("tr", {}, h("th.n", { scope: "col" }, "kept tokens"), h("th", { scope: "col" }, "answer"), question.order.map((option) => h("th.n", { scope: "col" }, shown(question.options[option]))))),
        h("tbody", {}, view.points.map((kept, index) => h("tr", { class: index === question.enough && index > 0 ? "enough" : "" },
          h("th.n", { scope: "row" }, tokens(kept)), h("td", {}, shown(question.answers[index]), remark(index) && h("small.muted", {}, remark(index))),
          question.order.map((option) => h("td.n", { title: String(question.p[index][option]) }, question.labels[index][option])))))));
  }
})();
