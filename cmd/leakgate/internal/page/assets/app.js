// The page: an index of assertions, what the chosen one found, and its trees.

let data;
const treeCache = new Map();

function treeOf(n) {
	let t = treeCache.get(n);
	if (!t) treeCache.set(n, t = Tree.from(data.trees[n], data.texts));
	return t;
}

async function unpack() {
	const text = atob(document.getElementById('data').textContent), raw = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
	const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip'));
	return JSON.parse(await new Response(stream).text());
}

// remembered is kept in the browser, where it lets us.
function remembered(key, value) {
	try {
		if (value === undefined) return localStorage.getItem('leakgate-' + key);
		localStorage.setItem('leakgate-' + key, value);
	} catch { /* a file has no storage in some browsers */ }
	return null;
}

const outcomes = {
	'pass': 'Every assertion passed', 'regression': 'More is retained than the tests allow', 'unknown': 'Could not tell',
	'misuse': 'An assertion is wrong', 'test-failure': 'Tests failed for other reasons', 'build-error': 'The tests did not build', 'nothing': 'No assertion ran',
};

class App {
	constructor() {
		this.assertion = 0;
		this.view = 0;
		this.display = remembered('display') === 'table' ? 'table' : 'icicle';
		this.measure = 'bytes';
		this.mode = 'after';
		this.against = '';
		this.pkg = '';
		this.fold = true;
		this.only = false;
		this.query = '';
		this.matches = null;
		this.matchAt = -1;
		this.tree = null;
		this.zoom = this.selected = 0;
		this.suspects = new Map();
	}

	start() {
		const theme = remembered('theme');
		if (theme) this.wear(theme);
		this.icicle = new Icicle(this);
		this.table = new Table(this);
		const page = document.getElementById('page');
		this.index = h('div', {class: 'index-list', role: 'list'});
		this.main = h('main', {id: 'main', tabIndex: -1});
		this.indexBox = h('details', {class: 'index', open: innerWidth >= 900}, h('summary', {}, 'Assertions, worst first'),
			data.assertions.length > 8 ? h('input', {type: 'search', 'aria-label': 'Filter assertions', placeholder: 'filter', oninput: e => this.fillIndex(e.target.value)}) : null, this.index);
		page.append(...[
			h('a', {class: 'skip', href: '#main', onclick: e => { e.preventDefault(); this.main.focus(); }}, 'Skip to the assertion'),
			this.header(), this.troubles(),
			h('div', {class: 'columns' + (data.assertions.length > 1 ? '' : ' alone')}, h('nav', {'aria-label': 'Assertions', hidden: data.assertions.length < 2}, this.indexBox), this.main),
			h('footer', {}, h('code', {}, bdi((data.command || []).join(' '), '', true)), ' ', [data.go_version, data.elapsed_seconds ? data.elapsed_seconds.toFixed(1) + ' s' : '', data.base ? 'against ' + data.base : ''].filter(Boolean).map(visible).join(' · ')),
			helpDialog(), h('div', {id: 'toast', 'aria-hidden': 'true'}), h('div', {id: 'said', class: 'offscreen', role: 'status', 'aria-live': 'polite'})].filter(Boolean));
		const wide = matchMedia('(min-width: 900px)');
		wide.addEventListener('change', () => { this.indexBox.open = wide.matches; });
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.icicle.draw());
		document.addEventListener('keydown', e => this.key(e));
		this.fillIndex('');
		this.fromHash();
		addEventListener('hashchange', () => this.fromHash());
		document.documentElement.dataset.ready = 'true';
	}

	header() {
		const parts = [data.failed && plural(data.failed - (data.known || 0), 'failure'), data.known && countText(data.known) + ' known', data.unknown && countText(data.unknown) + ' could not tell', data.passed && countText(data.passed) + ' passed'].filter(Boolean);
		return h('header', {},
			h('div', {class: 'brand'}, 'leakgate'),
			h('div', {class: 'outcome ' + (data.outcome || 'none')}, h('strong', {}, outcomes[data.outcome] || bdi(data.title)), parts.length ? h('span', {class: 'parts'}, parts.join(', ')) : null),
			h('div', {class: 'tools'},
				data.pprof ? h('a', {href: data.pprof, class: 'button'}, 'pprof') : null,
				h('button', {type: 'button', id: 'theme', title: 'dark or light (t)', 'aria-label': 'Dark or light', onclick: () => this.theme()}, '◐'),
				h('button', {type: 'button', title: 'help (?)', 'aria-label': 'Help', onclick: () => document.getElementById('help').showModal()}, '?')));
	}

	troubles() {
		const items = [...(data.problems || []).map(t => h('li', {class: 'problem'}, bdi(t))), ...(data.notes || []).map(t => h('li', {}, bdi(t)))];
		const failures = (data.failures || []).map(f => h('li', {}, h('details', {}, h('summary', {}, 'failed for another reason: ', bdi(f.name)), h('pre', {class: 'message', tabIndex: 0}, visible(f.output)))));
		return items.length + failures.length ? h('ul', {class: 'troubles'}, ...items, ...failures) : null;
	}

	fillIndex(filter) {
		filter = filter.toLowerCase();
		this.index.replaceChildren(...data.assertions.map((a, n) => {
			const name = a.test + (a.seq > 1 || data.assertions.some(o => o !== a && o.test === a.test && o.package === a.package) ? ' #' + a.seq : '');
			if (filter && !(a.package + '.' + name).toLowerCase().includes(filter)) return null;
			return h('div', {role: 'listitem'}, h('button', {type: 'button', class: 'entry', 'aria-current': n === this.assertion ? 'true' : null, onclick: () => { this.show(n, 0); if (innerWidth < 900) this.indexBox.open = false; }},
				verdicts[a.verdict] ? h('span', {class: 'dot ' + a.verdict, 'aria-hidden': 'true'}, verdicts[a.verdict].mark) : null,
				h('span', {class: 'entry-name'}, h('span', {class: 'offscreen'}, (verdicts[a.verdict] || {word: ''}).word + ' '), bdi(name, '', true), h('span', {class: 'entry-package'}, bdi(a.package), a.bytes ? ' · ' + bytesText(a.bytes).replace(' ', '\u00a0') : ''))));
		}).filter(Boolean));
	}

	// fromHash shows what the address says: #a=1&v=0.
	fromHash() {
		const at = new URLSearchParams(location.hash.slice(1)), n = Number(at.get('a')) || 0, v = Number(at.get('v')) || 0;
		if (at.get('d') === 'table' || at.get('d') === 'icicle') this.display = at.get('d');
		const a = Math.min(Math.max(n, 0), data.assertions.length - 1);
		if (a < 0) {
			this.main.replaceChildren(h('p', {class: 'empty'}, 'No assertion was made.'));
			return;
		}
		if (this.shown !== a + '/' + v) this.show(a, v);
	}

	// show shows a view of an assertion.
	show(n, v) {
		const a = data.assertions[n], views = a.views || [];
		v = Math.min(Math.max(v, 0), Math.max(views.length - 1, 0));
		const same = this.assertion === n && this.shown;
		this.assertion = n;
		if (!same) this.tree = null; // nothing of it is chosen any more
		this.view = v;
		this.shown = n + '/' + v;
		this.against = views[v] && views[v].before !== undefined ? 'before' : '';
		this.mode = 'after';
		this.pkg = '';
		this.measure = 'bytes';
		this.query = '';
		this.matches = null;
		this.only = false;
		const hash = '#a=' + n + '&v=' + v;
		if (location.hash !== hash) history.replaceState(null, '', hash);
		for (const e of this.index.querySelectorAll('.entry')) e.removeAttribute('aria-current');
		const entry = this.index.children[n];
		if (entry && this.index.children.length === data.assertions.length) entry.firstChild.setAttribute('aria-current', 'true');
		if (!same) {
			this.main.replaceChildren(this.about(a));
			this.main.className = (a.findings || []).length && views.length ? 'beside' : '';
		}
		if (this.treePart) this.treePart.remove();
		this.treePart = views.length ? this.treeSection(a, views) : h('p', {class: 'empty'}, bdi(a.missing || ''));
		this.main.append(this.treePart);
		if (views.length) this.build();
		document.title = (a.verdict ? verdicts[a.verdict].mark + ' ' : '') + visible(a.test) + ' – leakgate';
	}

	about(a) {
		const facts = [];
		if (a.bytes) facts.push(bytesText(a.bytes) + ' retained in ' + plural(a.objects, 'object'));
		if (a.live) facts.push(bytesText(a.live) + ' alive' + (a.live_before ? ', ' + bytesText(a.live_before) + ' before' : ''));
		if (a.pause_ns) facts.push('stopped for ' + (a.pause_ns / 1e6).toFixed(1) + ' ms');
		const findings = a.findings || [], bounds = a.bounds || [], show = (a.views || []).some(v => v.kind === 'retained') ? path => this.goTo(path) : null;
		return h('section', {class: 'about', 'aria-label': 'What the assertion found'},
			h('h1', {}, badge(a.verdict, a.misuse), ' ', bdi(a.test, '', true), a.seq > 1 ? ' #' + a.seq : ''),
			h('p', {class: 'facts'}, bdi(a.package), a.place ? [' · ', placeLink(a.place)] : ''),
			a.cause ? h('p', {class: 'cause'}, h('strong', {}, 'Could not tell: '), bdi(a.cause), a.remedy ? h('span', {}, ' – ', bdi(a.remedy)) : null) : null,
			...findingCards(findings, show),
			a.golden && a.golden.diff ? h('details', {}, h('summary', {}, 'Golden file ', bdi(a.golden.file), ': ' + a.golden.status), h('pre', {class: 'message', tabIndex: 0, 'aria-label': 'golden file'}, visible(a.golden.diff))) : null,
			bounds.length ? h('details', {}, h('summary', {}, plural(bounds.length, 'bound'), findings.length ? ' that held' : ''), h('ul', {class: 'bounds'}, ...bounds.map(b => h('li', {}, badge(b.verdict), ' ', bdi(b.selector, 'mono'), ' ', b.growth ? bdi(b.growth) : plural(b.objects, 'object') + ', ' + bytesText(b.bytes), b.beyond ? bdi('; also leads to ' + b.beyond) : null)))) : null,
			a.message ? h('details', {open: a.verdict !== 'pass' && !findings.some(f => f.chain)}, h('summary', {}, 'Message of the test'), h('pre', {class: 'message', tabIndex: 0, 'aria-label': 'message'}, visible(a.message)), sourceOf(a.place)) : null,
			facts.length ? h('p', {class: 'facts'}, facts.join(' · ')) : null,
			a.missing && (a.views || []).length ? h('p', {class: 'problem'}, bdi(a.missing)) : null);
	}

	treeSection(a, views) {
		const view = views[this.view];
		const tabs = h('div', {class: 'tabs', role: 'group', 'aria-label': 'What to show'}, ...views.map((v, n) => h('button', {
			type: 'button', 'aria-pressed': n === this.view ? 'true' : 'false', onclick: () => this.show(this.assertion, n),
		}, v.title)));
		const others = [];
		data.assertions.forEach((o, n) => {
			const w = (o.views || []).find(w => w.kind === view.kind);
			if (w && n !== this.assertion) others.push([String(n), (o.package === a.package ? '' : shortName(o.package) + '.') + o.test + ' #' + o.seq]);
		});
		const choices = [['', 'nothing'], ...(view.before !== undefined ? [['before', view.before_title || 'before']] : []), ...others];
		this.againstSelect = choices.length > 1 ? h('select', {id: 'against', onchange: e => { this.against = e.target.value; this.mode = this.against ? 'difference' : 'after'; this.build(); }}, ...choices.map(([value, text]) => h('option', {value}, visible(text)))) : null;
		if (this.againstSelect) this.againstSelect.value = this.against;
		const base = treeOf(view.tree), packages = new Map();
		for (const [i, r] of base.roots) packages.set(r.package || '', (packages.get(r.package || '') || 0) + base.bytes[i]);
		const list = [...packages].sort((x, y) => y[1] - x[1]).slice(0, 300);
		this.modes = h('div', {class: 'segments', role: 'group', 'aria-label': 'Before and after'});
		this.measures = h('div', {class: 'segments', role: 'group', 'aria-label': 'Size by'});
		this.displays = h('div', {class: 'segments', role: 'group', 'aria-label': 'Show as'});
		this.search = h('input', {type: 'search', id: 'search', placeholder: 'path or type  ( / )', 'aria-label': 'Search the tree', spellcheck: false, autocomplete: 'off', oninput: e => this.find(e.target.value), onkeydown: e => {
			if (e.key === 'Enter') { this.nextMatch(e.shiftKey ? -1 : 1); e.preventDefault(); }
			if (e.key === 'Escape') { e.target.value = ''; this.find(''); e.target.blur(); e.stopPropagation(); }
		}});
		this.count = h('span', {class: 'count'});
		this.legendBox = h('div', {});
		this.detail = h('aside', {class: 'detail', 'aria-label': 'The chosen node'});
		this.holder = h('div', {class: 'holder'});
		this.tableTools = h('div', {class: 'segments', role: 'group', 'aria-label': 'Rows'},
			h('button', {type: 'button', onclick: () => this.table.expand(0, Infinity)}, 'open all'), h('button', {type: 'button', onclick: () => this.table.collapse()}, 'close all'));
		const retained = views.find(v => v.kind === 'retained');
		return h('section', {class: 'tree', 'aria-label': 'Trees'}, tabs,
			view.kind === 'goroutine' && retained ? goroutineTable(treeOf(retained.tree), path => this.goTo(path)) : null,
			h('div', {class: 'toolbar'},
				this.displays, this.measures,
				h('span', {class: 'search-box'}, this.search, this.count,
					h('label', {class: 'check'}, h('input', {type: 'checkbox', onchange: e => { this.only = e.target.checked; this.refresh(); }}), 'only matches')),
				packages.size > 1 ? h('label', {}, 'package ', h('select', {id: 'package', onchange: e => { this.pkg = e.target.value; this.build(); }}, h('option', {value: ''}, 'all'),
					...list.map(([p, n]) => h('option', {value: p || '-'}, visible(p || '(none)') + '  ' + bytesText(n))))) : null,
				packages.size > 1 ? h('label', {class: 'check'}, h('input', {type: 'checkbox', id: 'fold', checked: this.fold, onchange: e => { this.fold = e.target.checked; this.build(); }}), 'fold runtime and standard library') : null,
				this.againstSelect ? h('label', {}, 'compare with ', this.againstSelect) : null, this.modes, this.tableTools),
			this.legendBox, this.holder, this.detail,
			h('p', {class: 'left-out', id: 'left-out'}));
	}

	// build makes the tree that is to be shown, as filters and the comparison say.
	build() {
		const a = data.assertions[this.assertion], view = a.views[this.view];
		const path = this.tree && this.selected > 0 ? this.tree.pathOf(this.selected) : '';
		let tree = treeOf(view.tree);
		if (this.against !== '') {
			const other = this.against === 'before' ? view.before : data.assertions[Number(this.against)].views.find(v => v.kind === view.kind).tree;
			tree = tree.compare(treeOf(other));
		}
		if (tree.roots.size) tree = tree.select(r => !this.pkg || (r.package || '-') === this.pkg, r => this.fold && r.standard && !this.pkg, 'runtime and standard library');
		if (!this.against) this.mode = 'after';
		if (!tree.units.includes(this.measure) && !(this.measure === 'freed' && tree.hasFreed)) this.measure = tree.units.includes('bytes') ? 'bytes' : 'objects';
		if (tree.units.includes('bytes') && this.measure === 'bytes' && tree.bytes[0] === 0 && tree.objects[0] > 0 && !tree.before) this.measure = 'objects';
		this.tree = tree;
		this.zoom = 0;
		this.suspects = this.findSuspects(a, tree);
		this.table.open.clear();
		const end = [...this.suspects].find(([, kind]) => kind === 'end');
		this.selected = (path && tree.find(path)) || (end ? end[0] : 0);
		for (const i of this.suspects.keys()) this.table.open.add(i);
		for (const i of [...tree.ordered(0, this.measure, this.mode)].slice(0, 1)) if (!tree.folded.has(i)) this.table.open.add(i);
		if (this.query) this.matches = new Set(tree.search(this.query));
		document.getElementById('left-out').textContent = tree.leftOut ? plural(tree.leftOut, 'small line') + ' (' + bytesText(tree.leftBytes) + ') left out; their figures are in the lines above them' : '';
		this.refresh();
	}

	// findSuspects marks what the findings name, and the way to it.
	findSuspects(a, tree) {
		const out = new Map();
		if (!tree.roots.size) return out;
		for (const f of a.findings || []) {
			if (!f.path) continue;
			const i = tree.find(f.path);
			if (i <= 0) continue;
			out.set(i, 'end');
			for (let p = tree.parent[i]; p > 0; p = tree.parent[p]) if (!out.has(p)) out.set(p, 'way');
		}
		return out;
	}

	total(measure) { return this.mode === 'before' && this.tree.before ? this.tree.before[measure][0] : this.tree[measure][0]; }

	segment(box, choices, current, choose) {
		box.replaceChildren(...choices.map(([value, text]) => h('button', {type: 'button', 'aria-pressed': value === current ? 'true' : 'false', onclick: () => choose(value)}, text)));
		box.hidden = choices.length < 2;
	}

	refresh() {
		const {tree} = this;
		this.segment(this.displays, [['icicle', 'Icicle'], ['table', 'Table']], this.display, d => this.setDisplay(d));
		this.segment(this.measures, [...(tree.units.includes('bytes') ? [['bytes', 'bytes']] : []), ...(tree.units.includes('objects') ? [['objects', 'objects']] : []), ...(tree.hasFreed && this.mode === 'after' ? [['freed', 'frees']] : [])], this.measure, m => this.setMeasure(m));
		this.segment(this.modes, this.against !== '' ? [['after', 'after'], ['before', 'before'], ['difference', 'difference']] : [], this.mode, m => { this.mode = m; if (m !== 'after' && this.measure === 'freed') this.measure = 'bytes'; this.refresh(); });
		this.tableTools.hidden = this.display !== 'table';
		const part = this.display === 'table' ? this.table : this.icicle;
		if (this.holder.firstChild !== part.element) this.holder.replaceChildren(part.element);
		this.legendBox.replaceChildren(legend(this));
		if (this.display === 'table') {
			this.table.refresh();
			if (this.selected > 0) this.table.reveal(this.selected);
		} else this.icicle.draw();
		this.showDetail();
		this.showCount();
	}

	showDetail() {
		const i = this.selected;
		this.detail.replaceChildren(h('h3', {}, i === 0 ? 'All' : 'Chosen'), ...describe(this, i),
			h('p', {class: 'actions'}, i > 0 && !this.tree.folded.has(i) ? h('button', {type: 'button', onclick: () => copy(this.tree.pathOf(i), 'path')}, 'Copy path') : null,
				this.display === 'icicle' && !this.tree.leaf(i) && i !== this.zoom ? h('button', {type: 'button', onclick: () => this.enlarge(i)}, 'Enlarge') : null));
	}

	setDisplay(d) {
		this.display = d;
		remembered('display', d);
		this.refresh();
		(d === 'table' ? this.table.grid : this.icicle.canvas).focus({preventScroll: true});
	}

	setMeasure(m) {
		this.measure = m;
		this.refresh();
	}

	choose(i) {
		if (i === undefined || i < 0) return;
		this.selected = i;
		if (this.display === 'table') this.table.reveal(i); else this.icicle.draw();
		this.showDetail();
		say(visible(this.tree.nameOf(i)) + ', ' + (this.measure === 'objects' ? plural(this.tree.objects[i], 'object') : bytesText(this.tree.value(i, this.measure))));
	}

	enlarge(i, selected) {
		this.zoom = this.tree.leaf(i) && i > 0 ? this.tree.parent[i] : i;
		this.choose(selected ?? i);
	}

	// goTo shows a path in the tree of what is retained.
	goTo(path) {
		const n = (data.assertions[this.assertion].views || []).findIndex(v => v.kind === 'retained');
		if (n !== this.view) this.show(this.assertion, n);
		let i = this.tree.find(path);
		if (i <= 0 && this.pkg) { this.pkg = ''; this.build(); i = this.tree.find(path); }
		if (this.display === 'icicle' && i > 0) {
			const whole = this.tree.size(this.zoom, this.measure, this.mode);
			if (this.tree.size(i, this.measure, this.mode) / whole * this.icicle.element.clientWidth < 30) this.zoom = this.tree.parent[i];
		}
		this.choose(Math.max(i, 0));
		this.treePart.scrollIntoView({behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
	}

	find(text) {
		this.query = text.trim();
		this.matches = this.query ? new Set(this.tree.search(this.query)) : null;
		this.matchAt = -1;
		this.showCount();
		if (this.only || this.display === 'table') { if (this.display === 'table') this.table.refresh(); }
		if (this.display === 'icicle') this.icicle.draw();
	}

	showCount() {
		let text = '';
		if (this.matches) {
			let bytes = 0;
			for (const i of this.matches) {
				let p = this.tree.parent[i];
				while (p > 0 && !this.matches.has(p)) p = this.tree.parent[p];
				if (p <= 0) bytes += this.tree.bytes[i];
			}
			text = plural(this.matches.size, 'match').replace('matchs', 'matches') + (this.tree.units.includes('bytes') ? ', ' + bytesText(bytes) : '');
		}
		this.count.textContent = text;
		if (text) say(text);
	}

	nextMatch(step) {
		if (!this.matches || !this.matches.size) return;
		const list = [...this.matches].sort((a, b) => this.tree.size(b, this.measure, this.mode) - this.tree.size(a, this.measure, this.mode));
		this.matchAt = (this.matchAt + step + list.length) % list.length;
		const i = list[this.matchAt];
		if (this.display === 'icicle' && !this.icicle.boxes.some(b => b.i === i && b.w > 12)) this.zoom = this.tree.parent[i];
		this.choose(i);
	}

	theme() {
		const root = document.documentElement;
		const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
		this.wear(dark ? 'light' : 'dark');
		remembered('theme', root.dataset.theme);
		if (this.tree) this.icicle.draw();
	}

	// wear puts on a theme, whatever the system prefers.
	wear(theme) {
		document.documentElement.dataset.theme = theme;
		document.getElementById('dark').media = theme === 'dark' ? 'screen' : 'not all';
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input, select, textarea') || document.getElementById('help').open) return;
		const go = n => { if (n >= 0 && n < data.assertions.length) { this.show(n, 0); this.index.children[n]?.firstChild.scrollIntoView({block: 'nearest'}); } };
		switch (e.key) {
		case '/': if (this.search) this.search.focus(); break;
		case 'j': go(this.assertion + 1); break;
		case 'k': go(this.assertion - 1); break;
		case '1': if (this.tree) this.setDisplay('icicle'); break;
		case '2': if (this.tree) this.setDisplay('table'); break;
		case 'n': this.nextMatch(1); break;
		case 'N': this.nextMatch(-1); break;
		case 'c': if (this.selected > 0) copy(this.tree.pathOf(this.selected), 'path'); break;
		case 't': this.theme(); break;
		case '?': document.getElementById('help').showModal(); break;
		default: return;
		}
		e.preventDefault();
	}
}

// app is there for the browser's console, and for tests.
const app = globalThis.leakgate = new App();
unpack().then(d => { data = d; app.start(); }, err => {
	document.getElementById('page').append(h('p', {class: 'empty'}, 'The data of this page cannot be read: ' + err + '. A browser of 2023 or newer can.'));
});
