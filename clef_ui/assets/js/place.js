// Where decisions are made, when the operator has named servers: the chooser, and how much of a state one reads.
(() => {
  "use strict";
  const { h, replace, call, emit, shown, tokens, setText } = window.clef;
  const SIZES = [4096, 16384, 65536];
  window.clef.place = ""; // this machine

  window.clef.placeChooser = (panel) => {
    const select = h("select", { id: "clef-place", onchange: () => choose(select.value) });
    const measure = h("button.btn.small.ghost", { type: "button", hidden: true, onclick: () => measureWindow(panel.server, select.value) }, "Measure what it reads");
    const root = h("span.place", { hidden: true }, h("label", { for: "clef-place" }, "Decide on"), select, measure);

    function choose(name) {
      window.clef.place = name;
      measure.hidden = name === "";
      select.title = select.selectedOptions[0]?.title || "";
      emit("place", name);
    }

    call(panel.server, "places_there", "").then(({ places }) => {
      replace(select, places.map(({ name, label, detail }) => h("option", { value: name, title: detail }, shown(detail ? `${label} (${detail})` : label))));
      root.hidden = places.length < 2;
    }).catch(() => {});
    return root;
  };

  function measureWindow(server, place) {
    let run = null;
    window.clef.dialog(["How much of a state does ", shown(place), " read?"], (body) => {
      const size = h("select", { id: "clef-window-size", onchange: tell }, SIZES.map((n) => h("option", { value: n, selected: n === 16384 }, `${tokens(n)} tokens`)));
      const cost = h("p.muted", { role: "status" });
      const result = h("div", { role: "status" });
      const go = h("button.btn.primary", { type: "button", onclick: start }, "Measure");
      body.append(
        h("p", {}, "Two texts that differ in their last word alone are decided. When the answers differ, the end was read. The text grows until they do not."),
        h("p", {}, h("label", { for: "clef-window-size" }, "Look as far as "), size), cost,
        h("div.dialog-actions", {}, go), result);
      tell();

      async function tell() {
        try { setText(cost, (await call(server, "window_cost", { place, tokens: Number(size.value), run: "" })).sentence); } catch (error) { setText(cost, error.message); }
      }

      async function start() {
        if (run) { call(server, "stop_window", run).catch(() => {}); return; }
        run = crypto.randomUUID?.() || String(Math.random());
        setText(go, "Stop");
        follow(run);
        try { draw(await call(server, "window", { place, tokens: Number(size.value), run })); } catch (error) { replace(result, h("p.problem", {}, shown(error.message))); }
        run = null;
        setText(go, "Measure");
      }

      async function follow(mine) {
        while (run === mine && body.isConnected) {
          try {
            const { share, stage } = await call(server, "window_progress", mine);
            if (run === mine) replace(result, h("p.muted", {}, `${Math.round(100 * (share || 0))} %, ${stage}`));
          } catch { /* it is only progress */ }
          await new Promise((resolve) => setTimeout(resolve, 700));
        }
      }

      function draw(view) {
        if (view.stopped) return replace(result, h("p.muted", {}, "Stopped."));
        return replace(result, h("p", {}, h("b", {}, view.sentence)), h("table.clef-window", {},
          h("thead", {}, h("tr", {}, ["tokens of state", "counted there", "finding", "answer moves by"].map((text) => h("th", { scope: "col" }, text)))),
          h("tbody", {}, view.rows.map((row) => h("tr", {}, h("td.num", {}, tokens(row.tokens)), h("td.num", {}, row.counted === null ? "not told" : tokens(row.counted)), h("td", {}, row.finding), h("td.muted", {}, shown(row.detail)))))));
      }
    }, { wide: true }).then(() => { if (run) call(server, "stop_window", run).catch(() => {}); });
  }
})();
