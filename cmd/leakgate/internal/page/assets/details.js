// What stands beside the tree: verdicts, findings, source, a node's figures, the legend.

const verdicts = {
	fail: {mark: '✕', word: 'fail'}, pass: {mark: '✓', word: 'pass'}, unknown: {mark: '?', word: 'could not tell'}, known: {mark: '≈', word: 'known in the base'},
};

function badge(verdict, misuse) {
	const v = verdicts[verdict];
	if (!v) return null;
	return h('span', {class: 'badge ' + verdict}, h('span', {'aria-hidden': 'true'}, v.mark + ' '), misuse ? 'wrong assertion' : v.word);
}

// placeLink is a line of source: a link if it is known where the repository is published.
function placeLink(place) {
	const whole = place.file + (place.line ? ':' + place.line : ''), text = bdi(whole.slice(whole.lastIndexOf('/') + 1));
	if (place.url && place.url.startsWith('https://')) return h('a', {href: place.url, target: '_blank', rel: 'noopener noreferrer', class: 'place', title: visible(whole)}, text);
	return h('button', {type: 'button', class: 'place', title: 'copy ' + visible(whole), onclick: () => copy(whole, 'place')}, text);
}

function sourceOf(place) {
	if (!place || !place.lines || !place.lines.length) return null;
	return h('pre', {class: 'source', tabIndex: 0, 'aria-label': 'source of ' + place.file}, ...place.lines.map((line, n) => {
		const number = place.from + n;
		return h('span', {class: 'line' + (number === place.line ? ' here' : Math.abs(number - place.line) > 1 ? ' far' : '')}, h('span', {class: 'number', 'aria-hidden': 'true'}, String(number)), visible(line.replaceAll('\t', '    ')) + '\n');
	}));
}

// findingCards shows the findings of an assertion, those of one root together: the root, where it is declared, and how it holds what
// should be gone.
function findingCards(findings, onshow) {
	const groups = new Map();
	for (const f of findings) {
		const key = f.chain ? f.chain[0].name : f.file + ':' + f.line;
		if (!groups.has(key)) groups.set(key, []);
		groups.get(key).push(f);
	}
	return [...groups.values()].map(list => {
		const {chain, held_by: held = [], place, file, line, declared} = list[0];
		const at = place && (place.lines || place.url) ? place : file ? {file, line} : null, [who = '', ...more] = held;
		const text = at && declared ? who.replace(/ \([^()]*:\d+\)$/, '') : who, name = chain ? text.lastIndexOf(chain[0].name) : -1;
		return h('article', {class: 'finding'},
			who || at ? h('h2', {},
				name < 0 ? bdi(text) : [bdi(text.slice(0, name)), bdi(chain[0].name, 'mono'), bdi(text.slice(name + chain[0].name.length))], ' ',
				at ? h('span', {class: 'declared'}, h('span', {class: 'wording'}, declared ? 'declared at ' : 'asserted at '), placeLink(at)) : null) : null,
			...more.map(t => h('p', {class: 'facts'}, bdi(t))),
			sourceOf(at),
			h('div', {class: 'found'}, ...list.map((f, n) => h('section', {},
				h('h3', {}, bdi(f.text.replace(' (most at ' + f.path + ')', '').replace(': ' + f.path + ': ', ': '))),
				f.chain ? chainOf(f.chain, n ? chain : [], f.rule === 'growth' ? 'added' : 'own') : f.path ? h('p', {}, mark(''), bdi(f.path, 'mono'), f.type ? bdi(shortName(f.type), 'type') : null) : null,
				...(f.also_held_by || []).filter(Boolean).map(line => h('p', {class: 'also'}, bdi(line))),
				h('p', {class: 'actions'},
					f.path && onshow ? h('button', {type: 'button', onclick: () => onshow(f.path)}, 'Show in the tree') : null,
					f.path ? h('button', {type: 'button', onclick: () => copy(f.path, 'path')}, 'Copy path') : null,
					f.fingerprint ? h('button', {type: 'button', title: 'The same leak has it in any build: ' + f.fingerprint, onclick: () => copy(f.fingerprint, 'fingerprint')}, 'Fingerprint ', h('code', {}, f.fingerprint.slice(0, 12))) : null)))));
	});
}

function mark(meaning) {
	return [h('span', {class: 'mark', 'aria-hidden': 'true'}, '▲ '), h('span', {class: 'offscreen'}, meaning)];
}

// chainOf lists the references from a root to what it should not hold, but for those that it shares with the chain above, with a mark at
// those that may be to blame; where none is known, at the last one.
function chainOf(chain, above, whose) {
	let from = 0;
	while (above[from] && chain[from] && ['name', 'objects', 'bytes'].every(k => above[from][k] === chain[from][k])) from++;
	const suspects = chain.filter(l => l.suspect).length, last = chain.findLast(l => !l.back);
	const figure = (n, text) => h('span', {class: 'figure'}, n ? text(n) : '–');
	return [
		from ? h('p', {class: 'facts'}, 'by the references above, up to ', bdi(chain[from - 1].name, 'mono')) :
			h('p', {class: 'link names'}, h('span', {}, 'reference, type'), h('span', {class: 'figure'}, whose + ' objects'), h('span', {class: 'figure'}, whose + ' bytes')),
		from < chain.length ? h('ol', {class: 'chain', role: 'list'}, ...chain.slice(from).map(l => {
			const marked = suspects ? l.suspect : l === last;
			return h('li', {class: 'link' + (marked ? ' suspect' : '')},
				h('span', {class: 'reference'}, marked ? mark(suspects ? 'suspect: ' : 'found here: ') : null, bdi(l.name, 'mono'), l.about ? [' ', bdi(l.about.replace(/^, /, ''), 'type')] : null),
				figure(l.objects, countText), figure(l.bytes, bytesText));
		})) : null,
		suspects > 1 ? h('p', {class: 'facts'}, mark(''), 'one of these references should have been dropped') : null];
}

// describe says all that is known of a node.
function describe(state, i) {
	const {tree, mode} = state, root = tree.rootOf(i), rows = [];
	const row = (name, ...value) => rows.push(h('dt', {}, name), h('dd', {}, ...value));
	const path = tree.folded.has(i) || i === 0 ? tree.nameOf(i) : tree.pathOf(i);
	rows.push(h('dt', {class: 'offscreen'}, 'path'), h('dd', {class: 'whole mono'}, bdi(path)));
	if (tree.detailOf(i)) row(tree.roots.size ? 'type' : 'at', bdi(tree.detailOf(i), 'mono'));
	const both = m => m === 'bytes' ? bytesText : n => plural(n, 'object');
	const text = m => both(m)(tree[m][i]) + (state.total(m) > 0 ? ' (' + (tree[m][i] / state.total(m) * 100).toFixed(1) + ' %)' : '');
	row('total', tree.units.slice().reverse().map(text).join(', '));
	if (!tree.leaf(i) && (tree.ownBytes[i] || tree.ownObjects[i])) row('own', tree.units.slice().reverse().map(m => both(m)(m === 'bytes' ? tree.ownBytes[i] : tree.ownObjects[i])).join(', '));
	if (tree.elems[i]) row('entries', countText(tree.elems[i]));
	if (tree.before) row('before', tree.units.slice().reverse().map(m => both(m)(tree.before[m][i])).join(', '));
	if (tree.before && mode === 'difference') row('change', tree.units.slice().reverse().map(m => signed(both(m)(tree.change(i, m)), tree.change(i, m))).join(', '));
	if (tree.hasFreed && i > 0 && !tree.folded.has(i) && !tree.native(i)) row('cutting it frees', (tree.merged.has(i) ? 'at least ' : '') + bytesText(tree.freed[i]) + ', ' + plural(tree.freedObjects[i], 'object'));
	if (root && i > 0) {
		row('root', {global: 'package variable', frame: 'variable of a function', timer: 'pending timer', finalizer: 'finalizer', cleanup: 'cleanup', other: 'of the runtime', native: 'memory of C code'}[root.kind] || visible(root.kind),
			root.file ? ' (' + visible(root.file) + ':' + root.line + ')' : '', root.test ? ', of the test itself' : '');
		if (root.goroutine) row('goroutine', bdi(shortName(root.goroutine), 'mono'), root.goroutines > 1 ? ', ' + plural(root.goroutines, 'goroutine') : '',
			root.created_by ? ', started by ' : '', root.created_by ? bdi(shortName(root.created_by)) : '', root.created_at ? ' (' + visible(root.created_at) + ')' : '');
		if (root.timers) row('timers', countText(root.timers));
	}
	if (tree.notes.has(i)) row('note', bdi(tree.notes.get(i)));
	if (state.suspects.get(i) === 'end') row('suspect', 'an assertion found too much here');
	return [h('dl', {}, ...rows)];
}

// goroutineTable lists goroutines with what their variables keep.
function goroutineTable(tree, onshow) {
	const groups = new Map();
	for (const [i, r] of tree.roots) {
		if (r.kind !== 'frame') continue;
		const key = [r.goroutine, r.created_by, r.created_at].join('\n');
		let g = groups.get(key);
		if (!g) groups.set(key, g = {root: r, count: 0, objects: 0, bytes: 0, nodes: []});
		g.count = Math.max(g.count, r.goroutines || 1);
		g.objects += tree.objects[i];
		g.bytes += tree.bytes[i];
		g.nodes.push(i);
	}
	if (!groups.size) return null;
	const list = [...groups.values()].sort((a, b) => b.bytes - a.bytes);
	for (const g of list) g.nodes.sort((a, b) => tree.bytes[b] - tree.bytes[a]);
	return h('div', {class: 'wide', tabIndex: 0, role: 'region', 'aria-label': 'what goroutines keep'}, h('table', {class: 'plain'}, h('caption', {}, 'What the variables of goroutines keep, that nothing nearer to a root does'),
		h('thead', {}, h('tr', {}, ...['goroutine', 'how many', 'bytes', 'objects', 'most by', 'started by'].map((t, n) => h('th', {scope: 'col', class: n > 0 && n < 4 ? 'number' : ''}, t)))),
		h('tbody', {}, ...list.map(g => h('tr', {},
			h('th', {scope: 'row', class: 'mono'}, bdi(shortName(g.root.goroutine || '(not known)')), g.root.test ? h('span', {class: 'type'}, 'the test') : null),
			h('td', {class: 'number'}, countText(g.count)), h('td', {class: 'number'}, bytesText(g.bytes)), h('td', {class: 'number'}, countText(g.objects)),
			h('td', {}, h('button', {type: 'button', class: 'mono', onclick: () => onshow(tree.pathOf(g.nodes[0]))}, bdi(shortName(tree.nameOf(g.nodes[0]))))),
			h('td', {}, bdi(shortName(g.root.created_by || '–')), g.root.created_at ? ' (' + visible(g.root.created_at) + ')' : ''))))));
}

function legend(state) {
	const {tree, mode} = state, item = (cls, text) => h('li', {}, h('span', {class: 'swatch ' + cls, 'aria-hidden': 'true'}), text);
	const items = [];
	if (mode === 'difference') {
		items.push(item('more-3', 'more than before'), item('same', 'as before'), item('less-3', 'less than before'));
	} else if (tree.roots.size) {
		for (const [k, name] of Object.entries(kindNames)) items.push(item('kind-' + k, name));
	} else items.push(item('kind-frame0', 'by package'));
	if (state.suspects.size) items.push(item('suspect', '▲ suspect, and the way to it'));
	items.push(h('li', {}, tree.roots.size ? 'width: ' + ({bytes: 'bytes, each object charged to its shortest path', objects: 'objects, each charged to its shortest path', freed: 'bytes that cutting it alone would free'}[state.measure]) : 'width: ' + state.measure));
	return h('ul', {class: 'legend', 'aria-label': 'Legend'}, ...items);
}

const keys = [['/', 'search'], ['n, N', 'next and previous match'], ['j, k', 'next and previous assertion'], ['1, 2', 'icicle, table'], ['arrows', 'move in the tree'], ['Enter', 'enlarge, or open'], ['Escape', 'back, or clear the search'], ['*', 'open all below, in the table'], ['c', 'copy the path'], ['t', 'dark or light'], ['?', 'this help']];

function helpDialog() {
	const d = h('dialog', {id: 'help', 'aria-labelledby': 'help-title'},
		h('h2', {id: 'help-title'}, 'How to read this page'),
		h('p', {}, 'Each object that is alive is charged once, to the shortest path of references from a root: a package variable, a variable of a goroutine, a pending timer, a finalizer. A node is as wide as its total: its own objects and those of all below it. ',
			'“Frees” is what would become garbage if that reference alone were cut; what others hold too is not in it.'),
		h('dl', {class: 'keys'}, ...keys.flatMap(([k, text]) => [h('dt', {}, h('kbd', {}, k)), h('dd', {}, text)])),
		h('form', {method: 'dialog'}, h('button', {onclick: e => { e.preventDefault(); d.close(); }}, 'Close')));
	return d;
}
