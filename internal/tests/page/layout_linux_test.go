package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

// screens are the sizes of a phone, a laptop and a large screen.
var screens = [][2]int{{390, 844}, {1280, 800}, {2560, 1300}}

// TestOrder expects on the first screen, from the top: the verdict, the root with the line that
// declares it, and the references from there to what should be gone. The icicle is beside them
// where there is room, else below, and the test's message is folded.
func TestOrder(t *testing.T) {
	for _, screen := range screens {
		t.Run(fmt.Sprint(screen[0]), func(t *testing.T) {
			p := openPage(t, realPage(t), screen[0], screen[1], "light")
			box := func(element, side string) float64 {
				return eval[float64](p, element+".getBoundingClientRect()."+side)
			}
			const (
				verdict = "document.querySelector('h1')"
				root    = "document.querySelector('.finding h2')"
				line    = "document.querySelector('.finding .source .here')"
				last    = "[...document.querySelector('.chain').children].at(-1)"
				about   = "document.querySelector('.about')"
				trees   = "document.querySelector('.tree')"
			)
			for assertion, want := range map[int][]string{
				0: {"example.com/parcel.history", "▲ suspect: [*]"},
				1: {"example.com/parcel.inflight", "Requests", "[*]", "▲ found here: Retry.Body"},
			} {
				p.do(fmt.Sprintf("document.querySelectorAll('.entry')[%d].click(); scrollTo(0, 0)", assertion))
				var names []string
				for _, text := range eval[[]string](p, "[...document.querySelector('.chain').querySelectorAll('.reference')].map(e => e.textContent)") {
					name, _, _ := strings.Cut(strings.ReplaceAll(text, ": ", ":"), " []")
					name, _, _ = strings.Cut(name, " map[")
					name, _, _ = strings.Cut(name, " *")
					name, _, _ = strings.Cut(name, " parcel.")
					names = append(names, strings.ReplaceAll(name, ":", ": "))
				}
				require.Equal(t, want, names)
				require.Less(t, box(verdict, "bottom"), box(root, "top"))
				require.Less(t, box(root, "bottom"), box(line, "top"))
				require.Less(t, box(root, "bottom"), box(last, "top"))
				require.LessOrEqual(t, box(line, "bottom"), float64(screen[1]))
				require.LessOrEqual(t, box(last, "bottom"), float64(screen[1]), "the end of the chain is on the first screen")
				if screen[0] > 2000 {
					require.GreaterOrEqual(t, box(trees, "left"), box(about, "right"))
					require.Less(t, box(trees, "top"), box(last, "top"))
					require.Greater(t, box(trees, "right"), 0.97*float64(screen[0]), "the whole screen is used")
				} else {
					require.GreaterOrEqual(t, box(trees, "top"), box(about, "bottom"))
				}
				require.False(t, eval[bool](p, "document.querySelector('.message').checkVisibility()"), "the message is folded")
				lines := eval[[]string](p, "[...document.querySelectorAll('.finding .source .here')].map(e => e.textContent)")
				for i, text := range lines {
					require.NotContains(t, lines[i+1:], text, "a root is shown once")
				}
			}
			p.clean()
		})
	}
}

// search is a function that calls another for the texts of the page that match a pattern.
const search = `(pattern, within, without, found) => {
	const walk = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
	for (let node; node = walk.nextNode();) {
		const above = node.parentElement;
		if (!above.closest(within) || above.closest(without) || !above.checkVisibility()) continue;
		for (const m of node.data.matchAll(pattern)) found(node, m);
	}
}`

// wordsBroken returns the words that a line ends within. In the names of tests, a capital letter
// begins a word. Sources and messages, and what is cut short in the table, are not wrapped.
const wordsBroken = `(() => {
	const out = [], names = 'h1, .entry-name, footer';
	const look = (node, m) => {
		const r = document.createRange();
		r.setStart(node, m.index);
		r.setEnd(node, m.index + m[0].length);
		if (new Set([...r.getClientRects()].map(b => Math.round(b.top))).size > 1) out.push(m[0] + ' in ' + node.parentElement.textContent.slice(0, 80));
	};
	const search = ` + search + `;
	search(/\w+/g, 'body', 'pre, .rows, .offscreen, dialog, select, ' + names, look);
	search(/[A-Z]?[a-z\d]+/g, names, 'pre', look);
	return out;
})()`

// TestNoWordIsBroken looks at every line of text: it may end at a dot, a slash, a comma or a
// bracket, and not within a name.
func TestNoWordIsBroken(t *testing.T) {
	const name = "example.com/warehouse/inventory/v2/internal/registry.defaultRegistry"
	const typ = "map[warehouse.ShelfIdentifier]*registry.Ordered[warehouse.ShelfIdentifier,*inventory.PalletOfGoods]"
	long := made(t, "TestEveryPalletIsForgottenWhenTheWarehouseIsClosed", name+".byShelf", &refscan.Report{Roots: []*refscan.Node{{
		Name: name, Type: typ, Figures: refscan.Figures{Objects: 9, Bytes: 900}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/warehouse"},
		Children: []*refscan.Node{{Name: "byShelf", Type: typ, Figures: refscan.Figures{Objects: 19531, Bytes: 5000000}}},
	}}})
	for _, screen := range screens {
		p := openPage(t, long, screen[0], screen[1], "light")
		require.Empty(t, eval[[]string](p, wordsBroken), "on %d pixels", screen[0])
		p.clean()
		p = openPage(t, realPage(t), screen[0], screen[1], "light")
		for n := range eval[int](p, "document.querySelectorAll('.entry').length") {
			p.do(fmt.Sprintf("document.querySelector('.index').open = true; document.querySelectorAll('.entry')[%d].click()", n))
			require.Empty(t, eval[[]string](p, wordsBroken), "assertion %d on %d pixels", n, screen[0])
			p.do("[...document.querySelectorAll('.tabs button')].find(b => b.textContent === 'Goroutines').click()")
			require.Empty(t, eval[[]string](p, wordsBroken), "goroutines of assertion %d on %d pixels", n, screen[0])
		}
	}
}

// TestNumbers expects that every count has separators: 19,531. Lines of source, messages and places
// have numbers of their own.
func TestNumbers(t *testing.T) {
	const plainNumbers = `(() => {
		const out = [];
		(` + search + `)(/(?<![\w.:,\/-])\d{4,}(?!\w)/g, 'body', 'pre, .place, footer', (node, m) => out.push(m[0] + ' in ' + node.data));
		return out;
	})()`
	p := openPage(t, realPage(t), 1280, 800, "light")
	shown := ""
	for n := range eval[int](p, "document.querySelectorAll('.entry').length") {
		p.do(fmt.Sprintf("document.querySelectorAll('.entry')[%d].click()", n))
		for v := range eval[int](p, "document.querySelectorAll('.tabs button').length") {
			p.do(fmt.Sprintf("document.querySelectorAll('.tabs button')[%d].click(); leakgate.setDisplay('table'); leakgate.choose(1)", v))
			require.Empty(t, eval[[]string](p, plainNumbers), "assertion %d, view %d", n, v)
			shown += eval[string](p, "document.getElementById('page').textContent")
		}
	}
	require.Contains(t, shown, "4,000")
	require.Contains(t, shown, "501 objects, at most 1 allowed")
	p = openPage(t, made(t, "TestMany", "example.com/app.many", &refscan.Report{Roots: []*refscan.Node{{
		Name: "example.com/app.many", Type: "[]string", Figures: refscan.Figures{Objects: 19531, Bytes: 1000, Elems: 1234567, Ended: 2345}, EndedState: "closed",
		Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"},
	}}}), 1280, 800, "light")
	require.Empty(t, eval[[]string](p, plainNumbers))
	text := eval[string](p, "document.body.innerText")
	for _, number := range []string{"19,531", "1,000 B", "1,234,567", "2,345 of its objects: closed"} {
		require.Contains(t, text, number)
	}
}
