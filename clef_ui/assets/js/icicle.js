// The state's values as an icicle, opened on demand beside the Budget panel's table of the same numbers.
(() => {
  "use strict";
  const { h, replace, tokens } = window.clef;
  const STATUS = { kept: "", cut: ", cut in two", lost: ", lost" };

  // The Budget view's state: rows in prompt order with depth, name, path, tokens and status.
  function parts({ rows }, whole) {
    const above = []; // ids of the values that the row lies in, by depth
    const inner = rows.map((row, place) => {
      const id = `row-${place}`;
      above.length = row.depth - 1;
      const parent = above.at(-1) || "state";
      above.push(id);
      const leaf = !(rows[place + 1]?.depth > row.depth);
      const label = row.status === "kept" ? row.name : `${row.name} (${STATUS[row.status].slice(2)})`;
      return { id, parent, label, value: row.tokens, hover: `${row.path}: ${tokens(row.tokens)} tokens${STATUS[row.status]}`, status: row.status, leaf };
    });
    const outer = rows.filter((row) => row.depth === 1);
    const status = ["lost", "kept"].find((each) => outer.every((row) => row.status === each)) || "cut";
    return [{ id: "state", parent: "", label: "state", value: whole, hover: `the whole state: ${tokens(whole)} tokens`, status, leaf: false }, ...inner];
  }

  // `view` is the whole Budget view.
  window.clef.icicle = (view) => {
    const costs = view.state;
    const whole = view.parts.filter((part) => ["state", "cut"].includes(part.group)).reduce((sum, part) => sum + part.tokens, 0);
    if (costs.kind !== "json" || costs.rows.length < 2) return null;
    const place = h("div");
    const details = h("details.icicle", {}, h("summary", {}, "As a picture: the wider, the more tokens"), place,
      h("p.muted.small-note", {}, "Click a value to look into it, the bar on top to go back. Yellow is kept in part, dotted where a text or number is cut in two; striped is lost. The table below has the same numbers."));
    details.addEventListener("toggle", () => {
      if (!details.open) return replace(place);
      const dearest = costs.rows.filter((row) => row.depth === 1).sort((a, b) => b.tokens - a.tokens)[0];
      replace(place, window.clef.charts.icicle({ label: `Tokens of the state's values as nested boxes; the largest is ${dearest.name} with ${tokens(dearest.tokens)} tokens. The table below has all numbers.`, parts: parts(costs, whole) }));
      return undefined;
    });
    return details;
  };
})();
