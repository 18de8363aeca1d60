window.clef.panels.export = (root) => { root.append(window.clef.h('p.muted', {}, 'export')); };
