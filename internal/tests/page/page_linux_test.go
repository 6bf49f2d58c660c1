package page_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// realPage is the page of a real run.
func realPage(t *testing.T) string {
	t.Helper()
	slow(t)
	return "file://" + filepath.Join(artifacts(t), "leak.html")
}

// TestEveryView goes through every view of every assertion of a real run, on a phone, a laptop and
// a large screen, in both themes.
func TestEveryView(t *testing.T) {
	url := realPage(t)
	for _, width := range []int{390, 1200, 2560} {
		for _, theme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d %s", width, theme), func(t *testing.T) {
				p := openPage(t, url, width, 1000, theme)
				require.Equal(t, 6, eval[int](p, "document.querySelectorAll('.entry').length"), "all assertions of the run")
				require.Equal(t, "TestRemember", eval[string](p, "document.querySelector('h1 bdi').textContent"), "the worst first")
				dark := eval[bool](p, "getComputedStyle(document.documentElement).backgroundColor === 'rgb(18, 22, 28)'")
				require.Equal(t, theme == "dark", dark)
				p.do("leakgate.setDisplay('icicle')")
				p.picture(fmt.Sprintf("%d-%s-icicle", width, theme))
				p.accessible()
				p.do("leakgate.setDisplay('table')")
				p.picture(fmt.Sprintf("%d-%s-table", width, theme))
				p.accessible()
				views := eval[[]string](p, everyView)
				require.Len(t, views, 5*6+2, "of the forgotten object there are goroutines and stack memory alone")
				for _, v := range views {
					require.NotContains(t, v, " 0 ", "nothing was drawn")
				}
				p.clean()
			})
		}
	}
}

// everyView goes through all views, as icicle and as table, and returns the number of boxes and
// rows of each.
const everyView = `(() => {
	const out = [];
	for (let a = 0; a < document.querySelectorAll('.entry').length; a++) {
		document.querySelectorAll('.entry')[a].click();
		for (let v = 0; v < document.querySelectorAll('.tabs button').length; v++) {
			document.querySelectorAll('.tabs button')[v].click();
			leakgate.setDisplay('icicle');
			const boxes = leakgate.icicle.boxes.length;
			leakgate.setDisplay('table');
			if (document.documentElement.scrollWidth > innerWidth) throw new Error('assertion ' + a + ', view ' + v + ' is too wide');
			out.push(a + '.' + v + ': ' + boxes + ' ' + document.querySelectorAll('.rows .row').length + ' ' + document.querySelectorAll('.detail dd').length + ' ');
		}
	}
	return out;
})()`

// TestFindingLeadsToItsNode clicks on the actions of a finding, and copies its fingerprint.
func TestFindingLeadsToItsNode(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "light")
	p.do("document.querySelectorAll('.entry')[1].click()")
	require.Equal(t, "TestHandle", eval[string](p, "document.querySelector('h1 bdi').textContent"))
	require.Equal(t, 3, eval[int](p, "document.querySelectorAll('.finding h3').length"))
	require.Equal(t, 2, eval[int](p, "document.querySelectorAll('.finding').length"), "two are of one root, which is shown once")
	p.do("document.querySelector('.finding .actions button').click()")
	require.Equal(t, "example.com/parcel.inflight.Requests[*].Retry.Body", eval[string](p, "document.querySelector('.detail dd.whole').textContent"))
	require.Equal(t, "end", eval[string](p, "leakgate.suspects.get(leakgate.selected)"))
	require.Equal(t, "way", eval[string](p, "leakgate.suspects.get(leakgate.tree.find('example.com/parcel.inflight'))"))
	require.Contains(t, eval[string](p, "document.querySelector('.finding .source .here').textContent"), "inflight = Server", "the line that declares the root")
	require.Contains(t, eval[string](p, "document.querySelector('.about > details .source .here').textContent"), "leakcheck.AssertRetained(t,", "the line that asserts")
	p.do("[...document.querySelectorAll('.finding button')].find(b => b.textContent.startsWith('Fingerprint')).click()")
	p.run(chromedp.Poll("document.getElementById('said').textContent === 'fingerprint copied'", nil, chromedp.WithPollingTimeout(30*time.Second)))
	p.clean()
}

// TestKeys does everything with the keyboard.
func TestKeys(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "light")
	keys := func(keys string) { p.run(chromedp.KeyEvent(keys)) }
	keys("j")
	require.Equal(t, "TestHandle", eval[string](p, "document.querySelector('h1 bdi').textContent"))
	keys("k")
	require.Equal(t, "TestRemember", eval[string](p, "document.querySelector('h1 bdi').textContent"))
	keys("j")
	keys("1")
	require.Equal(t, "CANVAS", eval[string](p, "document.activeElement.tagName"))
	name := func() string { return eval[string](p, "document.querySelector('.detail dd.whole').textContent") }
	keys(kb.Home)
	require.Equal(t, "all", name())
	keys(kb.ArrowDown)
	first := name()
	require.NotEqual(t, "all", first)
	keys(kb.ArrowRight)
	require.NotEqual(t, first, name())
	require.Contains(t, eval[string](p, "document.getElementById('said').textContent"), "KiB", "screen readers are told")
	keys(kb.Enter)
	require.Positive(t, eval[int](p, "leakgate.zoom"))
	keys(kb.Escape)
	require.Zero(t, eval[int](p, "leakgate.zoom"))
	keys("2")
	require.Equal(t, "treegrid", eval[string](p, "document.activeElement.getAttribute('role')"))
	keys(kb.Home)
	rows := eval[int](p, "leakgate.table.rows.length")
	keys(kb.ArrowLeft)
	keys("*")
	require.Greater(t, eval[int](p, "leakgate.table.rows.length"), rows-1)
	keys(kb.ArrowDown)
	require.Equal(t, 1, eval[int](p, "document.querySelectorAll('.row[aria-selected=true]').length"))
	keys("t")
	require.Equal(t, "dark", eval[string](p, "document.documentElement.dataset.theme"))
	keys("?")
	require.True(t, eval[bool](p, "document.getElementById('help').open"))
	p.accessible()
	keys(kb.Escape)
	require.False(t, eval[bool](p, "document.getElementById('help').open"))
	p.clean()
}

// TestSearch finds nodes by path or type, and goes from one match to the next.
func TestSearch(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "light")
	p.do("document.querySelectorAll('.entry')[1].click()")
	p.run(chromedp.KeyEvent("/"))
	require.Equal(t, "search", eval[string](p, "document.activeElement.id"))
	// where it has got the key itself, since chromedp sends its character apart
	p.do("document.activeElement.value = ''")
	p.run(chromedp.SendKeys("#search", "requests[*].body"))
	require.Equal(t, "1 match, 100.0 KiB", eval[string](p, "document.querySelector('.count').textContent"))
	p.run(chromedp.SendKeys("#search", kb.Enter))
	require.Equal(t, "example.com/parcel.inflight.Requests[*].Body", eval[string](p, "document.querySelector('.detail dd.whole').textContent"))
	p.picture("search-icicle")
	p.do("leakgate.setDisplay('table'); document.querySelector('.search-box input[type=checkbox]').click()")
	require.Equal(t, 4, eval[int](p, "leakgate.table.rows.length"), "the match and the way to it")
	p.run(chromedp.SendKeys("#search", kb.Escape))
	require.Empty(t, eval[string](p, "document.querySelector('.count').textContent"))
	p.run(chromedp.SendKeys("#search", "*parcel.request"))
	require.Zero(t, eval[int](p, "leakgate.matches.size"), "types have whole paths")
	p.run(chromedp.SendKeys("#search", kb.Escape), chromedp.SendKeys("#search", "*example.com/parcel.request"))
	require.GreaterOrEqual(t, eval[int](p, "leakgate.matches.size"), 3)
	p.clean()
}

// TestFilters folds the standard library away, and chooses a package.
func TestFilters(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "light")
	p.do("document.querySelectorAll('.entry')[1].click(); leakgate.setDisplay('table')")
	total := eval[int](p, "leakgate.tree.bytes[0]")
	top := eval[[]string](p, "leakgate.tree.ordered(0, 'bytes', 'after').map(i => leakgate.tree.nameOf(i))")
	require.Contains(t, top[len(top)-1], "runtime and standard library (")
	require.Less(t, len(top), 10)
	p.do("document.getElementById('fold').click()")
	require.Equal(t, total, eval[int](p, "leakgate.tree.bytes[0]"), "nothing is lost")
	require.Greater(t, eval[int](p, "leakgate.table.rows.length"), 50)
	p.do("const s = document.getElementById('package'); s.value = 'runtime'; s.dispatchEvent(new Event('change'))")
	require.Less(t, eval[int](p, "leakgate.tree.bytes[0]"), total)
	require.True(t, eval[bool](p, "leakgate.table.rows.every(i => leakgate.tree.nameOf(i).startsWith('runtime') || leakgate.tree.parent[i] > 0 || leakgate.tree.rootOf(i).package === 'runtime')"))
	p.clean()
}

// TestBeforeAndAfter compares two scans of a test, and the two heap profiles of one.
func TestBeforeAndAfter(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "dark")
	p.do("document.querySelectorAll('.entry')[2].click()") // TestHandle #2, after three more calls
	p.do(`const s = document.getElementById('against'); s.value = [...s.options].find(o => o.textContent === 'TestHandle #1').value; s.dispatchEvent(new Event('change'))`)
	require.Equal(t, "difference", eval[string](p, "leakgate.mode"))
	change := func(path string) int {
		return eval[int](p, fmt.Sprintf("leakgate.tree.change(leakgate.tree.find(%q), 'objects')", path))
	}
	require.Zero(t, change("example.com/parcel.inflight.Requests[*].Body"), "the same users again")
	p.picture("difference-icicle")
	p.accessible()
	p.do("[...document.querySelectorAll('.segments button')].find(b => b.textContent === 'before').click()")
	require.Positive(t, eval[int](p, "leakgate.icicle.boxes.length"))
	p.do("document.querySelectorAll('.entry')[0].click()") // TestRemember
	p.do(`const s = document.getElementById('against'); s.value = [...s.options].find(o => o.textContent === 'TestHandle #1').value; s.dispatchEvent(new Event('change'))`)
	require.Equal(t, 4000, change("example.com/parcel.history[*]"))
	p.do("leakgate.setDisplay('table')")
	p.picture("difference-table")
	p.accessible()
	p.do("[...document.querySelectorAll('.tabs button')].find(b => b.textContent === 'Heap profile').click()")
	require.Equal(t, "baseline", eval[string](p, "document.querySelector('#against option:checked').textContent"))

	// What grew between the first snapshot of AssertNoGrowth and the last.
	p.do("[...document.querySelectorAll('.tabs button')].find(b => b.textContent === 'What is retained').click()")
	p.do(`const s = document.getElementById('against'); s.value = [...s.options].find(o => o.textContent === 'baseline').value; s.dispatchEvent(new Event('change'))`)
	require.Equal(t, "difference", eval[string](p, "leakgate.mode"))
	require.Positive(t, change("example.com/parcel.history[*]"))
	require.Less(t, change("example.com/parcel.history[*]"), 4000, "but for the calls before the first snapshot")
	p.clean()
}

// TestDominators shows what cutting a reference would free, where that was measured.
func TestDominators(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "light")
	p.do("document.querySelectorAll('.entry')[2].click(); leakgate.setDisplay('table')")
	require.Contains(t, eval[string](p, "document.querySelector('.head').textContent"), "frees")
	p.do("leakgate.setMeasure('freed'); leakgate.goTo('example.com/parcel.inflight.Requests[*].Body')")
	require.Contains(t, eval[string](p, "document.querySelector('.detail').textContent"), "cutting it frees100.0 KiB, 100 objects")
	p.do("leakgate.setDisplay('icicle')")
	require.Positive(t, eval[int](p, "leakgate.icicle.boxes.length"))
	p.picture("frees-icicle")
	p.clean()
}

// TestGoroutines checks the view of what goroutines keep.
func TestGoroutines(t *testing.T) {
	p := openPage(t, realPage(t), 1200, 1000, "light")
	p.do("document.querySelectorAll('.entry')[1].click(); [...document.querySelectorAll('.tabs button')].find(b => b.textContent === 'Goroutines').click()")
	row := eval[string](p, "[...document.querySelectorAll('table.plain tbody tr')].find(r => r.textContent.includes('parcel.wait')).textContent")
	require.Contains(t, row, "parcel.Wait.gowrap120331.6 KiB60parcel.wait.bufferparcel.Wait (parcel.go:", "20 goroutines keep 60 objects")
	p.picture("goroutines")
	p.accessible()
	p.do("document.querySelector('table.plain button').click()")
	require.Equal(t, "What is retained", eval[string](p, "document.querySelector('.tabs [aria-pressed=true]').textContent"))
	p.clean()
}
