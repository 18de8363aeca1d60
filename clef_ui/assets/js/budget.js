window.clef.panels.budget = (root) => { root.append(window.clef.h('p.muted', {}, 'budget')); };
