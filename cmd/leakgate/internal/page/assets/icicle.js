// The icicle: each node as wide as its size, those below it underneath, on a canvas. What is narrower than a pixel is not visited, so
// the work follows the width of the screen, not the size of the tree.

const smallest = 1.5, most = 200;

class Icicle {
	constructor(state) {
		this.state = state;
		this.canvas = h('canvas', {
			class: 'icicle', tabIndex: 0, role: 'application', 'aria-label': 'Icicle of what is retained. Arrow keys move, Enter enlarges, Escape goes back. The table has the same.',
			onclick: e => this.click(e), ondblclick: e => this.click(e), onmousemove: e => this.move(e), onmouseleave: () => this.leave(), onkeydown: e => this.key(e),
			onfocus: () => this.draw(), onblur: () => this.draw(),
		});
		this.crumbs = h('div', {class: 'crumbs', role: 'group', 'aria-label': 'The way to what is enlarged'});
		this.tip = h('div', {class: 'tip', role: 'presentation', hidden: true});
		this.element = h('div', {class: 'icicle-box'}, this.crumbs, h('div', {class: 'canvas-box'}, this.canvas, this.tip));
		this.boxes = [];
		this.hover = -1;
		new ResizeObserver(() => this.draw()).observe(this.element);
	}

	// layout makes the boxes that are wide enough, from the node that is enlarged.
	layout(width) {
		const {tree, measure, mode, zoom} = this.state;
		this.boxes = [];
		const whole = tree.size(zoom, measure, mode);
		let rows = 0;
		if (whole <= 0) return 0;
		const above = [];
		for (let i = zoom; i >= 0; i = tree.parent[i]) above.unshift(i);
		above.forEach((i, row) => this.boxes.push({i, x: 0, w: width, row}));
		rows = above.length;
		const scale = width / whole;
		const stack = [[zoom, 0, above.length]];
		while (stack.length) {
			const [i, x0, row] = stack.pop();
			if (row >= most) continue;
			let x = x0;
			const end = x0 + tree.size(i, measure, mode) * scale;
			for (const c of tree.ordered(i, measure, mode)) {
				const w = Math.min(tree.size(c, measure, mode) * scale, end - x);
				if (w < smallest) {
					if (mode === 'difference' || i === 0) continue; // they are not in the order of their width
					break;
				}
				this.boxes.push({i: c, x, w, row});
				if (row + 1 > rows) rows = row + 1;
				if (!tree.leaf(c)) stack.push([c, x, row + 1]);
				x += w;
			}
		}
		return rows;
	}

	draw() {
		const width = this.element.clientWidth;
		if (width === 0 || !this.state.tree) return;
		const started = performance.now();
		const rows = Math.max(this.layout(width), 3), ratio = devicePixelRatio || 1;
		// Rows are higher where the screen has room for that, and do not change when something is enlarged.
		if (!this.state.zoom || !this.rowHeight) this.rowHeight = Math.max(24, Math.min(40, Math.floor(innerHeight * 0.4 / rows)));
		const {canvas, rowHeight} = this, height = rows * rowHeight;
		canvas.width = width * ratio;
		canvas.height = height * ratio;
		canvas.style.width = width + 'px';
		canvas.style.height = height + 'px';
		const g = canvas.getContext('2d'), {tree, measure, mode, suspects, matches, selected} = this.state, c = colors();
		g.scale(ratio, ratio);
		g.font = (rowHeight > 30 ? 13 : 12) + 'px ' + c.font;
		g.textBaseline = 'middle';
		g.direction = 'ltr';
		if (!this.boxes.length) {
			g.fillStyle = c.text;
			g.fillText(mode === 'before' ? 'There was nothing before.' : 'Nothing here.', 8, rowHeight / 2);
		}
		const searching = matches && matches.size > 0, zoomed = new Set();
		for (let i = tree.parent[this.state.zoom]; i >= 0; i = tree.parent[i]) zoomed.add(i);
		for (const b of this.boxes) {
			const y = b.row * rowHeight, i = b.i, match = searching && matches.has(i);
			g.globalAlpha = searching && !match ? 0.45 : zoomed.has(i) ? 0.7 : 1;
			g.fillStyle = i === 0 || tree.folded.has(i) ? c.fold : mode === 'difference' ? c.changed(tree.change(i, measure), tree.size(i, measure, mode)) : c.kind(kindOf(tree, i));
			g.fillRect(b.x, y, Math.max(b.w - 1, 0.5), rowHeight - 1);
			g.globalAlpha = 1;
			if (suspects.has(i) && b.w > 3) {
				g.strokeStyle = c.suspect;
				g.lineWidth = 2;
				g.strokeRect(b.x + 1, y + 1, Math.max(b.w - 3, 1), rowHeight - 3);
			}
			if (match && b.w > 3) {
				g.fillStyle = c.match;
				g.fillRect(b.x, y + rowHeight - 4, b.w - 1, 3);
			}
			if (b.w > 26) {
				g.fillStyle = searching && !match ? c.text : c.onKind;
				if (i === 0 || tree.folded.has(i)) g.fillStyle = c.text;
				this.label(g, (suspects.get(i) === 'end' ? '▲ ' : '') + this.text(i), b.x + 5, y + rowHeight / 2, b.w - 10);
			}
			if (i === selected) {
				g.strokeStyle = c.focus;
				g.lineWidth = document.activeElement === canvas ? 3 : 2;
				g.strokeRect(b.x + 1.5, y + 1.5, Math.max(b.w - 4, 1), rowHeight - 4);
			}
		}
		this.trail();
		this.took = performance.now() - started;
	}

	// text is a node's name and, after it, its type without import paths.
	text(i) {
		const {tree} = this.state, detail = shortName(tree.detailOf(i));
		let name = tree.nameOf(i);
		if (tree.roots.has(i) || tree.parent[i] <= 0) name = shortName(name);
		return visible(name + (detail ? '  ' + detail : ''));
	}

	label(g, text, x, y, room) {
		let n = Math.min(text.length, Math.floor(room / 3));
		if (n < text.length || g.measureText(text).width > room) {
			let low = 0, high = n;
			while (low < high) {
				const mid = (low + high + 1) >> 1;
				if (g.measureText(text.slice(0, mid) + '…').width <= room) low = mid; else high = mid - 1;
			}
			if (low < 2) return;
			text = text.slice(0, low) + '…';
		}
		g.fillText(text, x, y);
	}

	// trail shows what is above the node that is enlarged.
	trail() {
		const {tree, zoom} = this.state, above = [];
		for (let i = zoom; i >= 0; i = tree.parent[i]) above.unshift(i);
		this.crumbs.replaceChildren(...above.flatMap((i, n) => [
			n > 0 ? h('span', {class: 'sep', 'aria-hidden': 'true'}, '›') : null,
			h('button', {type: 'button', class: 'crumb', 'aria-current': i === zoom ? 'true' : null, onclick: () => this.state.enlarge(i)}, h('bdi', {}, visible(shortName(tree.nameOf(i))))),
		].filter(Boolean)));
		this.crumbs.hidden = above.length < 2;
	}

	at(e) {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, row = Math.floor((e.clientY - r.top) / this.rowHeight);
		const b = this.boxes.find(b => b.row === row && x >= b.x && x < b.x + b.w);
		return b ? b.i : -1;
	}

	click(e) {
		const i = this.at(e);
		if (i < 0) return;
		if (e.type === 'dblclick' || i === this.state.selected) this.state.enlarge(i);
		else this.state.choose(i);
	}

	move(e) {
		const i = this.at(e);
		this.canvas.style.cursor = i < 0 ? '' : 'pointer';
		if (i < 0) return this.leave();
		if (i !== this.hover) {
			this.hover = i;
			this.tip.replaceChildren(...describe(this.state, i));
			this.tip.hidden = false;
		}
		const r = this.canvas.getBoundingClientRect(), box = this.tip.getBoundingClientRect();
		this.tip.style.left = Math.max(0, Math.min(e.clientX - r.left + 12, r.width - box.width - 4)) + 'px';
		this.tip.style.top = (e.clientY - r.top + 18) + 'px';
	}

	leave() {
		this.hover = -1;
		this.tip.hidden = true;
	}

	key(e) {
		const {tree, measure, mode, selected, zoom} = this.state;
		const list = i => tree.ordered(i, measure, mode).filter(c => tree.size(c, measure, mode) > 0);
		let to = -1;
		switch (e.key) {
		case 'ArrowDown': to = list(selected)[0] ?? -1; break;
		case 'ArrowUp': to = tree.parent[selected]; break;
		case 'ArrowLeft': case 'ArrowRight': {
			if (selected === 0) break;
			const beside = list(tree.parent[selected]), at = beside.indexOf(selected);
			to = beside[at + (e.key === 'ArrowLeft' ? -1 : 1)] ?? -1;
			break;
		}
		case 'Home': to = 0; break;
		case 'Enter': case ' ': this.state.enlarge(selected); e.preventDefault(); return;
		case 'Escape': this.state.enlarge(Math.max(tree.parent[zoom], 0)); e.preventDefault(); return;
		default: return;
		}
		e.preventDefault();
		if (to < 0) return;
		if (!this.boxes.some(b => b.i === to)) this.state.enlarge(tree.parent[to] < 0 ? 0 : tree.parent[to], to);
		else this.state.choose(to);
	}
}

// kindOf says what sort of thing a node is, for its color.
function kindOf(tree, i) {
	const t = tree.detailOf(i);
	if (!tree.roots.size) return ['frame0', 'frame1', 'frame2'][Math.abs(hash(shortName(tree.nameOf(i)).split('.')[0])) % 3];
	if (t.startsWith('map[')) return 'map';
	if (t === 'string') return 'string';
	if (t.startsWith('[')) return 'slice';
	if (t.startsWith('chan ') || t.startsWith('<-chan') || t.startsWith('func(')) return 'func';
	if (t === '' || t === 'unsafe.Pointer') return 'other';
	return 'struct';
}

const kindNames = {map: 'map', slice: 'slice, array', string: 'string', struct: 'struct, pointer', func: 'func, chan', other: 'no type known'};

function hash(text) {
	let n = 0;
	for (let i = 0; i < text.length; i++) n = n * 31 + text.charCodeAt(i) | 0;
	return n;
}

// colors are those of the theme.
function colors() {
	const style = getComputedStyle(document.documentElement), get = name => style.getPropertyValue(name).trim();
	const c = {text: get('--text'), onKind: get('--on-kind'), fold: get('--fold'), suspect: get('--suspect'), match: get('--match'), focus: get('--focus'), font: get('--sans')};
	const kinds = {};
	for (const k of ['map', 'slice', 'string', 'struct', 'func', 'other', 'frame0', 'frame1', 'frame2']) kinds[k] = get('--kind-' + k);
	c.kind = k => kinds[k];
	const steps = ['--less-3', '--less-2', '--less-1', '--same', '--more-1', '--more-2', '--more-3'].map(get);
	c.changed = (change, size) => {
		const share = size > 0 ? change / size : 0;
		return steps[3 + Math.sign(share) * (share === 0 ? 0 : Math.abs(share) < 0.1 ? 1 : Math.abs(share) < 0.5 ? 2 : 3)];
	};
	return c;
}
