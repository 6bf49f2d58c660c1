// Text and elements. Names come from programs and tests: they become text of elements, never markup.

// unseen are characters that are not seen, or change the order of others.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

// visible writes what is not seen as its number.
function visible(text) {
	return text.replace(unseen, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

// breakable lets a line end after a dot, a slash or a comma, and at a bracket, and nowhere within a name; in names of tests, which are
// long, between words.
function breakable(text, words) {
	return visible(text).split(words ? /(?<=[/_])|(?<=[a-z])(?=[A-Z])/ : /(?<=[./,\]])(?=[^./,\]\d])|(?<=[^[])(?=\[)/).flatMap((part, n) => n ? [h('wbr'), part] : [part]);
}

function bdi(text, cls, words) { return h('bdi', {class: cls}, breakable(text, words)); }

// h makes an element. Properties that begin with "on" are listeners; "class" and names with a dash are attributes.
function h(tag, props, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(props || {})) {
		if (value === undefined || value === null || value === false) continue;
		if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
		else if (name in e && name !== 'list' && !name.includes('-')) e[name] = value;
		else e.setAttribute(name, value === true ? '' : value);
	}
	e.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
	return e;
}

function bytesText(n) {
	const sign = n < 0 ? '−' : '';
	n = Math.abs(n);
	if (n < 1024) return sign + countText(Math.round(n)) + ' B';
	for (const unit of ['KiB', 'MiB', 'GiB']) {
		n /= 1024;
		if (n < 1000) return sign + tenths.format(n) + ' ' + unit;
	}
	return sign + tenths.format(n / 1024) + ' TiB';
}

const digits = new Intl.NumberFormat('en-US'), tenths = new Intl.NumberFormat('en-US', {minimumFractionDigits: 1, maximumFractionDigits: 1});

function countText(n) {
	return (n < 0 ? '−' : '') + digits.format(Math.abs(n));
}

function plural(n, noun) {
	return countText(n) + ' ' + noun + (n === 1 ? '' : 's');
}

function signed(text, n) {
	return n > 0 ? '+' + text : text;
}

// shortName leaves out the folders of import paths: "example.com/app.T" is "app.T".
function shortName(name) {
	return name.replace(/[\w.~%-]+(?:\/[\w.~%-]+)*\/(?=[\w%-])/g, '');
}

// say tells screen readers what happened.
function say(text) {
	document.getElementById('said').textContent = text;
}

async function copy(text, what) {
	try {
		// A browser may ask whether it may, and nobody may answer.
		await Promise.race([navigator.clipboard.writeText(text), new Promise((_, no) => setTimeout(no, 1000))]);
	} catch {
		// A file that was opened from a disk may have no clipboard: the old way needs a selection.
		const area = h('textarea', {value: text, class: 'offscreen', 'aria-hidden': 'true'});
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	const toast = document.getElementById('toast');
	toast.textContent = what + ' copied';
	toast.classList.add('shown');
	clearTimeout(copy.timer);
	copy.timer = setTimeout(() => toast.classList.remove('shown'), 1500);
	say(what + ' copied');
}
