// The table: the same tree as rows that open. Only the rows that are seen have elements, so it may have any number.

const lineHeight = 30;

class Table {
	constructor(state) {
		this.state = state;
		this.rows = []; // nodes, as they are shown
		this.body = h('div', {class: 'rows', role: 'rowgroup'});
		this.head = h('div', {class: 'row head', role: 'row'});
		this.grid = this.scroller = h('div', {
			class: 'table', role: 'treegrid', tabIndex: 0, 'aria-label': 'What is retained, as a table. Arrow keys move, right and left open and close.',
			onscroll: () => this.paint(), onkeydown: e => this.key(e), onfocus: () => this.paint(), onblur: () => this.paint(),
		}, h('div', {role: 'rowgroup', class: 'head-box'}, this.head), h('div', {class: 'spacer', role: 'presentation'}, this.body));
		this.element = h('div', {class: 'table-box'}, this.grid);
		this.open = new Set();
		new ResizeObserver(() => this.paint()).observe(this.scroller);
	}

	columns() {
		const {tree, measure, mode} = this.state, bytes = tree.units.includes('bytes'), objects = tree.units.includes('objects'), out = [];
		if (mode === 'difference') {
			if (bytes) out.push({id: 'bytes', title: 'total bytes', text: i => bytesText(tree.bytes[i])}, {id: 'bytes', key: 'dbytes', title: 'change', text: i => signed(bytesText(tree.change(i, 'bytes')), tree.change(i, 'bytes')), change: true, extra: false});
			if (objects) out.push({id: 'objects', title: 'total objects', text: i => countText(tree.objects[i]), extra: bytes}, {id: 'objects', key: 'dobjects', title: 'change', text: i => signed(countText(tree.change(i, 'objects')), tree.change(i, 'objects')), change: true, extra: bytes});
			return out;
		}
		const column = m => mode === 'before' ? tree.before[m] : tree[m];
		if (bytes) out.push({id: 'bytes', title: 'total bytes', text: i => bytesText(column('bytes')[i])});
		if (bytes && mode !== 'before') out.push({id: '', title: 'own bytes', text: i => tree.ownBytes[i] ? bytesText(tree.ownBytes[i]) : '–', extra: true});
		if (objects) out.push({id: 'objects', title: 'total objects', text: i => countText(column('objects')[i]), extra: bytes});
		if (tree.hasFreed && mode !== 'before') out.push({id: 'freed', title: 'frees', text: i => i === 0 || tree.folded.has(i) || tree.native(i) ? '–' : (tree.merged.has(i) ? '≥ ' : '') + bytesText(tree.freed[i])});
		const whole = tree.size(0, measure, mode);
		out.push({id: '', title: '% of total', text: i => whole > 0 ? (tree.size(i, measure, mode) / whole * 100).toFixed(1) : '–', extra: true});
		return out;
	}

	// refresh lists the rows anew.
	refresh() {
		const {tree, measure, mode, matches, only} = this.state;
		this.rows = [];
		this.shownColumns = this.columns();
		const keep = only && matches && matches.size ? withAbove(tree, matches) : null;
		const stack = tree.ordered(0, measure, mode).slice().reverse();
		while (stack.length) {
			const i = stack.pop();
			if (keep && !keep.has(i)) continue;
			if (mode === 'before' && tree.size(i, measure, mode) === 0) continue;
			this.rows.push(i);
			if (this.open.has(i) || keep && keep.has(i)) {
				const below = tree.ordered(i, measure, mode);
				for (let k = below.length - 1; k >= 0; k--) stack.push(below[k]);
			}
		}
		this.grid.setAttribute('aria-rowcount', this.rows.length + 1);
		this.head.replaceChildren(h('span', {class: 'cell name', role: 'columnheader'}, tree.roots.size ? 'root, reference  type' : 'function, or type'),
			...this.shownColumns.map(c => h('span', {class: 'cell' + (c.extra ? ' extra' : ''), role: 'columnheader', 'aria-sort': c.id === measure && !c.change === (mode !== 'difference') ? 'descending' : 'none'},
				c.id && c.id !== measure ? h('button', {type: 'button', onclick: () => this.state.setMeasure(c.id)}, c.title) : c.title + (c.id === measure && !c.change === (mode !== 'difference') ? ' ▾' : ''))));
		this.body.parentElement.style.height = this.rows.length * lineHeight + 'px';
		this.scroller.style.height = (Math.max(this.rows.length, 3) + 1) * lineHeight + 2 + 'px';
		this.paint();
	}

	paint() {
		const {tree, suspects, matches, selected} = this.state;
		if (!tree || !this.shownColumns) return;
		const started = performance.now();
		const top = this.scroller.scrollTop, first = Math.max(0, Math.floor(top / lineHeight) - 8);
		const last = Math.min(this.rows.length, Math.ceil((top + this.scroller.clientHeight) / lineHeight) + 8);
		this.body.style.transform = 'translateY(' + first * lineHeight + 'px)';
		const rows = [];
		for (let k = first; k < last; k++) {
			const i = this.rows[k], leaf = tree.leaf(i), open = !leaf && k + 1 < this.rows.length && tree.parent[this.rows[k + 1]] === i, depth = tree.depth(i);
			const suspect = suspects.get(i);
			rows.push(h('div', {
				class: 'row' + (i === selected ? ' selected' : '') + (matches && matches.has(i) ? ' match' : '') + (suspect ? ' suspect' : ''), role: 'row', id: 'row-' + i,
				'aria-level': depth, 'aria-rowindex': k + 2, 'aria-selected': i === selected ? 'true' : 'false', 'aria-expanded': leaf ? null : open ? 'true' : 'false',
				onclick: e => { if (e.target.classList.contains('twisty')) this.toggle(i); else this.state.choose(i); }, ondblclick: () => this.toggle(i),
			}, this.nameCell(i, depth, leaf, open, suspect), ...this.shownColumns.map(c => {
				const text = c.text(i);
				return h('span', {class: 'cell' + (c.extra ? ' extra' : '') + (c.change ? text.startsWith('+') ? ' more' : text.startsWith('−') ? ' less' : '' : ''), role: 'gridcell'}, text);
			})));
		}
		if (!this.rows.length) rows.push(h('div', {class: 'row', role: 'row'}, h('span', {class: 'cell name', role: 'gridcell'}, 'Nothing here.')));
		this.body.replaceChildren(...rows);
		if (this.rows.includes(selected)) this.grid.setAttribute('aria-activedescendant', 'row-' + selected); else this.grid.removeAttribute('aria-activedescendant');
		this.took = performance.now() - started;
	}

	nameCell(i, depth, leaf, open, suspect) {
		const {tree} = this.state, root = tree.roots.get(i), cell = h('span', {class: 'cell name', role: 'gridcell', title: visible(tree.pathOf(i) + (tree.detailOf(i) ? '  ' + tree.detailOf(i) : ''))});
		cell.style.paddingLeft = Math.min(depth - 1, 24) * 14 + 6 + 'px';
		cell.append(h('span', {class: 'twisty', 'aria-hidden': 'true'}, leaf ? '' : open ? '▾' : '▸'));
		if (suspect === 'end') cell.append(h('span', {class: 'mark', title: 'suspect'}, '▲'), h('span', {class: 'offscreen'}, 'suspect'));
		cell.append(h('bdi', {class: 'label'}, visible(root ? shortName(tree.nameOf(i)) : tree.nameOf(i))));
		if (tree.detailOf(i)) cell.append(h('bdi', {class: 'type'}, visible(shortName(tree.detailOf(i)))));
		if (tree.elems[i]) cell.append(h('span', {class: 'type'}, countText(tree.elems[i]) + (tree.elems[i] === 1 ? ' entry' : ' entries')));
		return cell;
	}

	toggle(i) {
		const {tree} = this.state;
		if (tree.leaf(i)) return;
		if (this.open.has(i)) this.open.delete(i); else this.open.add(i);
		this.refresh();
	}

	// expand opens all nodes below i, as far as rows stay manageable for whoever reads them.
	expand(i, levels) {
		const {tree} = this.state, deepest = tree.depth(i) + levels;
		for (let c = i; c < tree.end[i]; c++) if (!tree.leaf(c) && (levels === Infinity || tree.depth(c) < deepest)) this.open.add(c);
		this.refresh();
	}

	collapse() {
		this.open.clear();
		this.refresh();
	}

	// reveal opens what is above a node, and scrolls to it.
	reveal(i) {
		const {tree} = this.state;
		let changed = false;
		for (let p = tree.parent[i]; p > 0; p = tree.parent[p]) if (!this.open.has(p)) { this.open.add(p); changed = true; }
		if (changed) this.refresh();
		const k = this.rows.indexOf(i);
		if (k < 0) return;
		const top = k * lineHeight, view = this.scroller.clientHeight - lineHeight; // the head stays above
		if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
		else if (top + lineHeight > this.scroller.scrollTop + view) this.scroller.scrollTop = top + lineHeight - view;
		this.paint();
	}

	key(e) {
		const {tree, selected} = this.state, k = this.rows.indexOf(selected), page = Math.max(1, Math.floor(this.scroller.clientHeight / lineHeight) - 1);
		const go = n => this.state.choose(this.rows[Math.max(0, Math.min(this.rows.length - 1, n))]);
		if (!this.rows.length) return;
		switch (e.key) {
		case 'ArrowDown': go(k + 1); break;
		case 'ArrowUp': go(k - 1); break;
		case 'PageDown': go(k + page); break;
		case 'PageUp': go(k - page); break;
		case 'Home': go(0); break;
		case 'End': go(this.rows.length - 1); break;
		case 'ArrowRight': if (k < 0) go(0); else if (!tree.leaf(selected) && !this.open.has(selected)) this.toggle(selected); else go(k + 1); break;
		case 'ArrowLeft': if (this.open.has(selected)) this.toggle(selected); else if (tree.parent[selected] > 0) this.state.choose(tree.parent[selected]); break;
		case 'Enter': case ' ': if (k >= 0) this.toggle(selected); break;
		case '*': if (k >= 0) this.expand(selected, Infinity); break;
		default: return;
		}
		e.preventDefault();
	}
}

// withAbove adds the nodes above some.
function withAbove(tree, nodes) {
	const all = new Set(nodes);
	for (const n of nodes) for (let p = tree.parent[n]; p > 0 && !all.has(p); p = tree.parent[p]) all.add(p);
	return all;
}
