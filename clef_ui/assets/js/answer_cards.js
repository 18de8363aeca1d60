// Draws one answer: head line, headline, bars or gauge, words and numbers, and the exact table underneath.
window.clef.answerCards = (() => {
  "use strict";
  const { h, shown, percent } = window.clef;

  function card(answer, view, settings) {
    const id = "clef-answer-" + answer.question;
    const options = ordered(answer, settings.order);
    return h("article.clef-answer", { "aria-labelledby": id, "data-question": String(answer.question) },
      h("div.head", {},
        h("h3.qid", { id }, shown(answer.id)),
        h("span.type", {}, answer.type),
        h("span.instruction.muted", {}, answer.instructionIsId ? "no instruction: the model reads the id" : shown(answer.instruction))),
      h("p.headline", {}, shown(answer.headline), " ", h("small", {}, shown(answer.detail), lead(answer))),
      view.cut && cutLine(view.cut),
      answer.remarks.map((remark) => h("p.advice.remark", {}, shown(remark))),
      answer.gauge && gauge(answer),
      answer.kind === "noul" ? balance(answer) : bars(answer, options),
      foot(answer, settings),
      table(answer, options));
  }

  // The model's order is the level order of a score; a choice goes by probability or as the request has it.
  function ordered(answer, order) {
    if (answer.kind !== "choice") return answer.options;
    const byRequest = (a, b) => a.request - b.request;
    return [...answer.options].sort(order === "request" ? byRequest : (a, b) => b.p - a.p || byRequest(a, b));
  }

  function lead(answer) {
    return answer.kind === "noul" || answer.options.length < 2 ? null : " · margin " + answer.margin + ", " + answer.marginWord;
  }

  function cutLine(cut) {
    return h("p.cut", {},
      `Computed on a cut state: ${window.clef.tokens(cut.lost)} of ${window.clef.tokens(cut.state)} state tokens were not read. `,
      h("button.link", { type: "button", onclick: () => window.clef.emit("open-tab", "budget") }, "What was lost?"), " ",
      h("button.link", { type: "button", onclick: () => window.clef.emit("ask-cut") }, "Did it matter?"));
  }

  // What a screen reader hears after the rounded number; the eye sees it over the bar, see `data-exact`.
  const exactly = (p) => h("span.clef-visually-hidden", {}, `, exactly ${p}`);

  // One stop of the tab key for all options of a card; the arrow keys go through them.
  function move(event) {
    const labels = [...event.currentTarget.querySelectorAll(".lab")];
    const now = labels.indexOf(document.activeElement);
    const next = { ArrowDown: now + 1, ArrowUp: Math.max(0, now - 1), Home: 0, End: labels.length - 1 }[event.key];
    if (next === undefined || !labels[next]) return;
    event.preventDefault();
    labels[next].focus();
  }

  function bars(answer, options) {
    const name = answer.kind === "score" ? "Levels of " : "Options of ";
    return h("ul.rows", { tabIndex: 0, onkeydown: move, "aria-label": name + answer.id + ", probability of each; exact values are shown while this has the focus; arrow keys reach the options" },
      options.map((option) => h("li.row", { class: option.top ? "row top" : "row", "data-option": String(option.index) },
        h("button.lab", { type: "button", tabIndex: -1, title: "show in the prompt", onclick: () => select(answer, option) },
          shown(option.id),
          option.description !== null && h("small", {}, shown(option.description))),
        h("span.track", { "data-exact": String(option.p) }, h("i", { style: { width: 100 * option.p + "%" } })),
        h("span.val", {}, option.label, exactly(option.p)))));
  }

  // One bar for a yes/no question: filled from the left by P(true); the middle says nothing either way.
  function balance(answer) {
    const [yes, no] = answer.options;
    const side = (option, place) => h("span", { class: option.top ? place + " top" : place, "data-option": String(option.index) },
      h("button.lab", { type: "button", tabIndex: -1, title: "show in the prompt", onclick: () => select(answer, option) }, option.id),
      " ", h("span.val", {}, option.label, exactly(option.p)));
    return h("div.balance", { tabIndex: 0, role: "group", onkeydown: move, "aria-label": answer.id + ", from true to false; exact values are shown while this has the focus" },
      h("div.sides", {}, side(yes, "yes"), side(no, "no")),
      h("div.track", { "data-exact": String(no.p), "data-left": String(yes.p) }, h("i", { style: { width: 100 * yes.p + "%" } }), h("b")),
      h("div.middle", { "aria-hidden": "true" }, "0.5 cannot tell"));
  }

  function gauge(answer) {
    const { expected, expectedShare, mode, modeShare, levels } = answer.gauge;
    const at = (share) => ({ left: 100 * share + "%" });
    const ticks = levels > 40 ? [] : Array.from({ length: levels }, (_, level) => h("i.tick", { style: at(levels > 1 ? level / (levels - 1) : 0) }));
    const text = `Expected level ${expected.toFixed(2)}, most likely level ${mode}, on a scale from 0 to ${levels - 1}`;
    return h("div.gauge-box", {},
      h("div.gauge", { role: "img", "aria-label": text }, h("i.rail"), ticks,
        h("i.mode", { style: at(modeShare) }), h("i.expected", { style: at(expectedShare) })),
      h("div.ends", { "aria-hidden": "true" }, h("span", {}, "0"),
        h("span.legend", {}, h("i.expected"), `expected ${expected.toFixed(2)}`, h("i.mode"), `most likely ${mode}`),
        h("span", {}, String(levels - 1))));
  }

  function foot(answer, settings) {
    const parts = [];
    const wanted = answer.confidences.find((c) => c.name === settings.confidence || (settings.confidence === "rescaled" && (c.name === "rescaled_peak" || c.name === "distance")));
    if (wanted) parts.push(h("span", { title: "as in " + wanted.used }, `confidence ${wanted.text} (${wanted.title})`));
    if (answer.kind === "noul") parts.push(h("span", { title: "the answer of a yes/no question is P(true) alone" }, "no confidence: P(true) says it"));
    if (answer.options.length > 1) parts.push(h("span", { title: "normalised entropy: 0 all on one option, 1 evenly spread" }, `entropy ${answer.entropy}, ${answer.entropyWord}`));
    parts.push(h("button.link", { type: "button", onclick: () => select(answer, null) }, "show in prompt"));
    return h("div.foot", {}, parts);
  }

  function select(answer, option) {
    window.clef.emit("select", { question: answer.question, option: option && option.index });
    window.clef.emit("open-tab", "prompt");
  }

  // Filled when it is opened: sixty-four tables nobody looks at would cost more than all bars together.
  function table(answer, options) {
    const details = h("details.exact-table", {}, h("summary", {}, "Exact values"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector("table")) return;
      const head = ["option", "probability", "%", "logit", "in the request", "for the model"];
      details.append(h("div.scroll", { tabIndex: 0, role: "region", "aria-label": "Exact values of " + answer.id },
        h("table", {}, h("caption.clef-visually-hidden", {}, "Exact values of " + answer.id),
          h("thead", {}, h("tr", {}, head.map((title, index) => h("th", { scope: "col", class: index ? "n" : "" }, title)))),
          h("tbody", {}, options.map((option) => h("tr", {},
            h("th", { scope: "row" }, shown(option.id), option.description !== null && h("small.muted", {}, " ", shown(option.description))),
            h("td.n", {}, String(option.p)), h("td.n", {}, percent(option.p)), h("td.n", {}, String(option.logit)),
            h("td.n", {}, String(option.request + 1)), h("td.n", {}, String(option.index + 1))))))));
    });
    return details;
  }

  return { card };
})();
