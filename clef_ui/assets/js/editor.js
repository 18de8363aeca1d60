window.clef.panels.editor = (root, panel) => {
  const { h } = window.clef;
  root.append(h("button.btn", { onclick: () => { panel.props.value = "{\"x\":" + Date.now() + "}"; panel.trigger("submit"); } }, "Run"));
  panel.watch("feedback", () => root.append(h("p", {}, String(panel.props.feedback))));
};
