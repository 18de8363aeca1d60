window.clef.panels.answers = (root) => { root.append(window.clef.h('p.muted', {}, 'answers')); };
