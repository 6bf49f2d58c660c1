// Trees in columns: nodes have numbers, each comes before those below it, and end[i] is the number after the last one below i.

class Tree {
	// from makes a tree of the columns of a page's data, below a node 0 that stands for all.
	static from(data, texts) {
		const n = data.names.length + 1;
		const t = new Tree(n, texts, data.units);
		const open = []; // ends are known when all children have come
		const left = [];
		t.name[0] = t.detail[0] = -1;
		let top = 0;
		const rest = new Int32Array(n);
		rest[0] = -1; // as many as there are
		t.parent[0] = -1;
		open.push(0);
		for (let i = 1; i < n; i++) {
			while (rest[open[open.length - 1]] === 0) t.end[open.pop()] = i;
			const above = open[open.length - 1];
			if (rest[above] > 0) rest[above]--;
			t.parent[i] = above;
			t.name[i] = data.names[i - 1];
			t.detail[i] = data.details[i - 1];
			t.ownObjects[i] = data.objects[i - 1];
			t.ownBytes[i] = data.bytes[i - 1];
			t.elems[i] = data.elems ? data.elems[i - 1] : 0;
			if (data.freed) {
				t.freed[i] = data.freed[i - 1];
				t.freedObjects[i] = data.freed_objects[i - 1];
			}
			rest[i] = data.children[i - 1];
			open.push(i);
		}
		while (open.length) t.end[open.pop()] = n;
		t.hasFreed = !!data.freed;
		for (const m of data.merged || []) t.merged.add(m + 1);
		for (const m of data.notes || []) t.notes.set(m.node + 1, m.text);
		for (const r of data.roots || []) t.roots.set(r.node + 1, r);
		t.leftOut = data.left_out || 0;
		t.leftBytes = data.left_bytes || 0;
		t.sum();
		return t;
	}

	constructor(n, texts, units) {
		this.n = n;
		this.texts = texts;
		this.units = units;
		this.name = new Int32Array(n);
		this.detail = new Int32Array(n);
		this.parent = new Int32Array(n);
		this.end = new Int32Array(n);
		for (const column of ['ownObjects', 'ownBytes', 'objects', 'bytes', 'elems', 'freed', 'freedObjects']) this[column] = new Float64Array(n);
		this.before = null; // columns objects and bytes of the tree that this one is compared with
		this.hasFreed = false;
		this.merged = new Set();
		this.notes = new Map();
		this.roots = new Map();
		this.folded = new Set(); // nodes that are no node of a program, but stand for several
		this.leftOut = this.leftBytes = 0;
		this.sorted = new Map();
	}

	sum() {
		this.objects.set(this.ownObjects);
		this.bytes.set(this.ownBytes);
		for (let i = this.n - 1; i > 0; i--) {
			this.objects[this.parent[i]] += this.objects[i];
			this.bytes[this.parent[i]] += this.bytes[i];
		}
		if (this.hasFreed) for (const c of this.childrenOf(0)) {
			this.freed[0] += this.freed[c];
			this.freedObjects[0] += this.freedObjects[c];
		}
		for (const i of this.folded) if (this.hasFreed) for (const c of this.childrenOf(i)) {
			this.freed[i] += this.freed[c];
			this.freedObjects[i] += this.freedObjects[c];
		}
	}

	*childrenOf(i) {
		for (let c = i + 1; c < this.end[i]; c = this.end[c]) yield c;
	}

	leaf(i) { return this.end[i] === i + 1; }

	nameOf(i) {
		const n = this.name[i];
		return n < 0 ? 'all' : this.texts[n];
	}

	detailOf(i) {
		const n = this.detail[i];
		return n < 0 ? '' : this.texts[n];
	}

	// native reports whether a node is memory of C code, of which it is not told what cutting frees.
	native(i) {
		return this.detailOf(i) === 'native block';
	}

	// depth is how many nodes are above i.
	depth(i) {
		let d = 0;
		for (; this.parent[i] >= 0; i = this.parent[i]) d++;
		return d;
	}

	rootOf(i) {
		while (i > 0 && !this.roots.has(i)) i = this.parent[i];
		return this.roots.get(i);
	}

	// pathOf is the path to a node, as messages have it.
	pathOf(i) {
		const steps = [];
		for (; i > 0 && !this.folded.has(i); i = this.parent[i]) steps.push(this.nameOf(i));
		let path = '';
		for (const s of steps.reverse()) path += path === '' || s.startsWith('[') ? s : '.' + s;
		return path;
	}

	// paths are those of all nodes. They are made once, for a search.
	get paths() {
		if (!this.allPaths) {
			const p = new Array(this.n);
			p[0] = '';
			for (let i = 1; i < this.n; i++) {
				const above = p[this.parent[i]], name = this.nameOf(i);
				p[i] = this.folded.has(i) ? '' : above === '' || name.startsWith('[') ? above + name : above + '.' + name;
			}
			this.allPaths = p;
		}
		return this.allPaths;
	}

	// search finds the nodes whose path, from its last step on, or whose type has the text.
	search(text) {
		text = text.toLowerCase();
		const found = [], paths = this.paths;
		const byDetail = new Map();
		for (let i = 1; i < this.n; i++) {
			const d = this.detail[i];
			let match = byDetail.get(d);
			if (match === undefined) byDetail.set(d, match = this.detailOf(i).toLowerCase().includes(text));
			if (!match && !this.folded.has(i)) {
				const path = paths[i].toLowerCase(), at = path.lastIndexOf(text);
				match = at >= 0 && at + text.length > paths[this.parent[i]].length;
			}
			if (match) found.push(i);
		}
		return found;
	}

	// values returns a measure of a node: what it is now, what it was, and by what it is sized.
	value(i, measure) { return this[measure][i]; }

	valueBefore(i, measure) { return this.before ? this.before[measure][i] : 0; }

	change(i, measure) { return this.value(i, measure) - this.valueBefore(i, measure); }

	// size is the width of a node: before, after, or the larger of the two where they are compared.
	size(i, measure, mode) {
		if (mode === 'before') return this.valueBefore(i, measure);
		if (mode === 'difference') return Math.max(this.value(i, measure), this.valueBefore(i, measure));
		return this.value(i, measure);
	}

	// ordered are the children of a node, the largest first, or the one that changed most.
	ordered(i, measure, mode) {
		const key = i + measure + mode;
		let list = this.sorted.get(key);
		if (!list) {
			list = [...this.childrenOf(i)];
			const weigh = mode === 'difference' ? c => Math.abs(this.change(c, measure)) : c => this.size(c, measure, mode);
			const weights = new Map(list.map(c => [c, weigh(c)]));
			list.sort((a, b) => (this.folded.has(a) - this.folded.has(b)) || weights.get(b) - weights.get(a) || a - b);
			this.sorted.set(key, list);
		}
		return list;
	}

	// find returns the node at a path, else the deepest one above it, else 0.
	find(path) {
		let best = 0, length = 0;
		for (const top of this.tops()) {
			let i = top, at = this.nameOf(i);
			if (path !== at && !(path.startsWith(at) && /[.[]/.test(path[at.length]))) continue;
			for (let deeper = true; deeper;) {
				deeper = false;
				for (const c of this.childrenOf(i)) {
					const name = this.nameOf(c), next = name.startsWith('[') ? at + name : at + '.' + name;
					if (path === next || path.startsWith(next) && /[.[]/.test(path[next.length])) {
						i = c; at = next; deeper = true;
						break;
					}
				}
			}
			if (at.length > length) { best = i; length = at.length; }
		}
		return best;
	}

	// tops are the nodes below 0, and below what stands for several of them.
	*tops() {
		for (const c of this.childrenOf(0)) {
			if (this.folded.has(c)) yield* this.childrenOf(c);
			else yield c;
		}
	}

	// select returns a tree with the roots that keep(root) is true for; those that fold(root) is true for stand below a node
	// of their own, which is called text.
	select(keep, fold, text) {
		const here = [], aside = [];
		for (const c of this.childrenOf(0)) {
			const r = this.roots.get(c);
			if (r && !keep(r)) continue;
			(r && fold(r) ? aside : here).push(c);
		}
		let n = 1 + (aside.length ? 1 : 0);
		for (const c of [...here, ...aside]) n += this.end[c] - c;
		const texts = aside.length ? [...this.texts, text + ' (' + plural(aside.length, 'root') + ')'] : this.texts;
		const out = new Tree(n, texts, this.units);
		if (this.before) out.before = {objects: new Float64Array(n), bytes: new Float64Array(n)};
		out.hasFreed = this.hasFreed;
		out.leftOut = this.leftOut;
		out.leftBytes = this.leftBytes;
		out.name[0] = out.detail[0] = out.parent[0] = -1;
		let at = 1;
		const take = (c, parent) => {
			const shift = at - c;
			for (let i = c; i < this.end[c]; i++, at++) {
				for (const column of ['name', 'detail', 'ownObjects', 'ownBytes', 'elems', 'freed', 'freedObjects']) out[column][at] = this[column][i];
				out.parent[at] = i === c ? parent : this.parent[i] + shift;
				out.end[at] = this.end[i] + shift;
				if (this.before) {
					out.before.objects[at] = this.before.objects[i];
					out.before.bytes[at] = this.before.bytes[i];
				}
				if (this.merged.has(i)) out.merged.add(at);
				if (this.notes.has(i)) out.notes.set(at, this.notes.get(i));
				if (this.roots.has(i)) out.roots.set(at, this.roots.get(i));
			}
		};
		for (const c of here) take(c, 0);
		if (aside.length) {
			const group = at++;
			out.folded.add(group);
			out.name[group] = texts.length - 1;
			out.detail[group] = -1;
			out.parent[group] = 0;
			for (const c of aside) take(c, group);
			out.end[group] = at;
		}
		out.end[0] = n;
		out.sum();
		if (out.before) for (const m of ['objects', 'bytes']) for (const i of [...out.folded, 0]) {
			out.before[m][i] = 0;
			for (const c of out.childrenOf(i)) out.before[m][i] += out.before[m][c];
		}
		return out;
	}

	// compare returns a tree of what is in either, with the figures of old as those before. Nodes are the same if names and types
	// are; of roots, the first not taken yet.
	compare(old) {
		const columns = {name: [], detail: [], parent: [], end: [], ownObjects: [], ownBytes: [], elems: [], freed: [], freedObjects: []};
		const was = {objects: [], bytes: []}, merged = [], notes = new Map(), roots = new Map();
		const add = (a, b, parent) => {
			const at = columns.name.length, from = a >= 0 ? this : old, i = a >= 0 ? a : b;
			columns.name.push(from.name[i]);
			columns.detail.push(from.detail[i]);
			columns.parent.push(parent);
			columns.end.push(0);
			for (const c of ['ownObjects', 'ownBytes', 'elems', 'freed', 'freedObjects']) columns[c].push(a >= 0 ? this[c][a] : 0);
			was.objects.push(b >= 0 ? old.objects[b] : 0);
			was.bytes.push(b >= 0 ? old.bytes[b] : 0);
			if (a >= 0 && this.merged.has(a)) merged.push(at);
			if (a >= 0 && this.notes.has(a)) notes.set(at, this.notes.get(a));
			if (from.roots.has(i)) roots.set(at, from.roots.get(i));
			const there = new Map();
			if (b >= 0) for (const c of old.childrenOf(b)) {
				const key = old.name[c] + ' ' + old.detail[c], list = there.get(key);
				if (list) list.push(c); else there.set(key, [c]);
			}
			if (a >= 0) for (const c of this.childrenOf(a)) {
				const list = there.get(this.name[c] + ' ' + this.detail[c]);
				add(c, list && list.length ? list.shift() : -1, at);
			}
			for (const list of there.values()) for (const c of list) add(-1, c, at);
			columns.end[at] = columns.name.length;
		};
		add(0, 0, -1);
		const out = new Tree(columns.name.length, this.texts, this.units);
		for (const [name, list] of Object.entries(columns)) out[name].set(list);
		out.before = {objects: Float64Array.from(was.objects), bytes: Float64Array.from(was.bytes)};
		out.hasFreed = this.hasFreed;
		out.merged = new Set(merged);
		out.notes = notes;
		out.roots = roots;
		out.leftOut = this.leftOut;
		out.leftBytes = this.leftBytes;
		out.sum();
		return out;
	}
}
