// Other servers of Clef: which would take this record, which refuse it, and which answer otherwise without a word.
window.clef.panels.servers = (root, panel) => {
  "use strict";
  const { h, replace, shown, call, debounce, on, fingerprint } = window.clef;
  const MARKS = { accepted: "✓", different: "~", refused: "✕" };
  const state = { asked: null, sequence: 0, visible: false };
  const summary = h("span.muted", { role: "status" });
  const body = h("div");
  root.classList.add("clef-servers");
  const details = h("details", { ontoggle: () => fetchServers() }, h("summary", {}, h("h3", {}, "Would other servers take this?"), summary), body);
  replace(root, details);

  function draw(view) {
    replace(summary, view.summary);
    replace(body, h("p.muted.small-note", {}, "Checked against what is publicly known of each server, with the tokens of this record; nothing is sent. Long states are cut by some and refused by others."),
      h("ul.servers", {}, view.servers.map(server)));
  }

  function server(entry) {
    return h("li", { class: entry.status }, h("div.head", {}, h("b", {}, entry.title), h("span.verdict-chip", {}, h("span", { "aria-hidden": "true" }, MARKS[entry.status] + " "), entry.word)),
      entry.findings.length > 0 && h("ul.findings", {}, entry.findings.map((finding) => h("li", {}, h("span.type", {}, finding.word), " ", finding.where && [h("code.k", {}, shown(finding.where)), ": "], shown(finding.message),
        finding.theirs && h("div.theirs", {}, "It says: ", h("q", {}, shown(finding.theirs))))), entry.more > 0 && h("li.muted", {}, `and ${entry.more} more of this kind`)),
      h("p.muted.source", {}, entry.note, " Source: ", entry.source, `, ${entry.date}.`));
  }

  const fetchServers = debounce(300, async () => {
    const { draft } = window.clef;
    const print = draft && fingerprint(draft);
    if (!draft || !(state.visible || details.open) || print === state.asked) return;
    state.asked = print;
    const sequence = ++state.sequence;
    try {
      const view = await call(panel.server, "servers", draft);
      if (sequence === state.sequence) draw(view);
    } catch (error) {
      state.asked = null;
      if (sequence !== state.sequence) return;
      replace(summary, "is told once the request has no problems");
      replace(body, h("p.problem", {}, shown(error.message)));
    }
  });
  on("draft", fetchServers);
  new IntersectionObserver((entries) => {
    state.visible = entries.at(-1).isIntersecting;
    if (state.visible) fetchServers();
  }).observe(root);
};
