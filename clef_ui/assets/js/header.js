window.clef.panels.header = (root) => { root.append(window.clef.h("h1", {}, "Clef workbench")); };
