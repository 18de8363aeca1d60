// The limits of tokens as live controls, with the release's defaults marked.
(() => {
  "use strict";
  const { h, append, replace, shown, tokens } = window.clef;

  // `api`: getDraft(), update(patch, options), setup {releaseLimits}
  window.clef.limitsSection = (container, api) => {
    const defaults = api.setup.releaseLimits;
    const summary = h("span.muted.num");
    const length = number("Tokens of the whole record (max_length)", "maxLength");
    const range = h("input", {
      type: "range", min: "512", max: "65536", step: "128", list: "clef-limit-marks", "aria-label": "max_length, coarse",
      oninput: () => change("maxLength", range.value),
    });
    const marks = h("datalist", { id: "clef-limit-marks" }, h("option", { value: defaults.maxLength, label: "default" }));
    const stateLimit = number("Tokens of the state alone (max_state_tokens)", "maxStateTokens");
    stateLimit.field.placeholder = "no limit of its own";
    const truncate = h("input", { type: "checkbox", onchange: () => change("truncate", truncate.checked) });
    const problems = h("div.clef-problems");
    const reset = h("button.btn.small.ghost", {
      type: "button", onclick: () => api.update({ limits: { ...defaults } }, { source: "reset", undo: "The limits are the release's again." }),
    }, "Back to the release's defaults");
    const details = h("details.clef-limits", {},
      h("summary", {}, h("h2", {}, "Limits"), summary),
      h("div.clef-limit-grid", {},
        length.label, h("div.clef-range", {}, range, marks, h("span.muted.small", {}, `release default ${tokens(defaults.maxLength)}`)),
        stateLimit.label, h("span.muted.small", {}, "release default: none. It is applied first, then the limit of the whole record."),
        h("label.clef-check", {}, truncate, h("span", {}, "Cut the end of the state when the record is too long, as the release does. Otherwise a long record is refused.")),
        reset),
      problems);
    append(container, [details]);

    function number(text, key) {
      const field = h("input.field.num", { type: "text", inputMode: "numeric", autocomplete: "off", oninput: () => change(key, field.value.trim()) });
      return { field, label: h("label.clef-field", {}, h("span", {}, text), field) };
    }

    function change(key, value) {
      api.update({ limits: { ...api.getDraft().limits, [key]: value } });
      show(api.getDraft().limits);
    }

    function show(limits) {
      if (length.field.value.trim() !== limits.maxLength) length.field.value = limits.maxLength;
      if (stateLimit.field.value.trim() !== limits.maxStateTokens) stateLimit.field.value = limits.maxStateTokens;
      range.value = limits.maxLength;
      truncate.checked = limits.truncate;
      const whole = Number(limits.maxLength);
      replace(summary, Number.isFinite(whole) ? tokens(whole) : shown(limits.maxLength), limits.maxLength === defaults.maxLength ? ", the release's default" : "",
        limits.maxStateTokens ? [", state at most ", shown(limits.maxStateTokens)] : "", limits.truncate ? "" : ", never cut");
      reset.disabled = JSON.stringify(limits) === JSON.stringify(defaults);
    }

    return {
      render: (draft) => show(draft.limits),
      applyPlan(view) {
        const mine = view.problems.filter((problem) => problem.area === "limits");
        replace(problems, mine.map((problem) => h("p.problem", {}, problem.where ? [h("code.k", {}, shown(problem.where)), " "] : "", shown(problem.message))));
        if (mine.length) details.open = true;
      },
      focus() { details.open = true; length.field.focus(); },
    };
  };
})();
