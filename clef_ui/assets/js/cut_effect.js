// Did the cut matter: the answers at the cut beside those of a larger limit, of the state's end and of no state.
(() => {
  "use strict";
  const { h, shown, tokens, on, emit } = window.clef;
  const TAB = "cut-effect";
  const FEW_OPTIONS = 8; // of so many none is left out
  const ARROWS = { up: "▲", down: "▼", same: "" };
  let ask = null; // starts the comparison, once the panel is there
  let wanted = false;

  window.clef.panels["cut-effect"] = (root, panel) => {
    const larger = h("input", { type: "text", inputMode: "numeric", size: 9, "data-option": "larger", placeholder: "the whole", autocomplete: "off" });
    const analysis = window.clef.analysis(root, panel, {
      name: "cut-effect",
      title: "Did the cut matter?",
      lead: "Answers the questions again: with more of the state, with its end instead of its start, and without it.",
      verb: "Compare",
      fields: h("label.analysis-field", {}, "larger ", h("code", {}, "max_length"), larger),
      options: () => ({ larger: larger.value }),
      ready: (plan) => plan.readings.length > 0,
      cost: (plan) => plan.readings.length
        ? `${tokens(plan.lost)} state tokens are cut. To compare takes ${plan.readings.length} readings, ${tokens(plan.tokens)} tokens.`
        : "Nothing of the state is cut at these limits, so there is nothing to compare. How much of it is needed is answered below.",
      draw,
    });
    ask = () => {
      document.querySelector("#clef-tabs").scrollIntoView({ block: "start" });
      analysis.start();
    };
    if (wanted) ask();
    wanted = false;
  };

  on("ask-cut", () => {
    wanted = !ask;
    emit("open-tab", TAB);
    ask?.();
  });

  function draw(view) {
    return [
      h("div.note.verdict", { role: "status" }, h("b", {}, shown(view.headline)),
        h("ul", {}, view.sentences.map((sentence) => h("li", {}, shown(sentence)))),
        view.model.demonstration && h("p.muted", {}, shown(view.model.name), " is a small demonstration model; what it makes of a cut says little of the large ones.")),
      table(view),
      h("p.muted.small-note", {}, "Shifts are percentage points against the answers as asked; none is written under half a point. The end is the text of the last state tokens as a state of its own, so a JSON state begins in its middle."),
    ];
  }

  function table(view) {
    const heads = view.readings.map((reading) => h("th.n", { scope: "col" }, h("span.title", {}, reading.title), h("small", {}, reading.held),
      reading.notes.map((note) => h("small.muted", {}, note)), reading.problem && h("small.problem", {}, shown(reading.problem))));
    return h("div.scroll", { tabIndex: 0, role: "region", "aria-label": "Answers by what is read of the state" },
      h("table.effect", {}, h("caption.clef-visually-hidden", {}, "Probability of each option in each reading, and its shift in percentage points from the answers as asked"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "question, option"), heads)), view.questions.map(rows)));
  }

  function rows(question) {
    const quiet = (place) => question.columns.every((column) => !column || (column.cells[place].p < 0.005 && column.cells[place].direction === "same"));
    const left = question.options.length > FEW_OPTIONS ? question.order.filter(quiet) : [];
    const body = h("tbody", {},
      h("tr.question", {}, h("th", { scope: "rowgroup" }, h("code", {}, shown(question.id)), " ", h("span.muted", {}, question.type)),
        question.columns.map((column) => h("td.n", {}, column ? [h("b", {}, shown(column.answer)), column.changed && h("span.changed", {}, "changed")] : "–"))),
      question.order.filter((place) => !left.includes(place)).map((place) => optionRow(question, place)));
    if (left.length) {
      const more = h("button.btn.small", { type: "button", onclick: () => { line.remove(); body.append(...left.map((place) => optionRow(question, place))); } }, `Show ${left.length} options under 0.5 % in every reading`);
      const line = h("tr", {}, h("td", { colSpan: question.columns.length + 1 }, more));
      body.append(line);
    }
    return body;
  }

  const optionRow = (question, place) => h("tr", {}, h("th.option", { scope: "row" }, shown(question.options[place])), question.columns.map((column) => cell(column && column.cells[place])));

  function cell(value) {
    if (!value) return h("td.n", {}, "–");
    return h("td.n", { title: String(value.p) }, h(value.top ? "b" : "span", {}, value.label),
      value.points && h("small", { class: "shift " + value.direction }, ARROWS[value.direction] && h("span", { "aria-hidden": "true" }, ARROWS[value.direction] + " "), value.points));
  }
})();
