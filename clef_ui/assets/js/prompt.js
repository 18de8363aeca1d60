window.clef.panels.prompt = (root) => { root.append(window.clef.h('p.muted', {}, 'prompt')); };
