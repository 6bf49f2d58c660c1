package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
)

// made writes a run with one failed assertion, makes its page, and returns the page's address.
func made(t *testing.T, test, path string, report *refscan.Report) string {
	t.Helper()
	slow(t)
	dir := t.TempDir()
	write := func(name string, value any) {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	write("report.json", report)
	write("leakgate.json", map[string]any{
		"schema": 1, "outcome": "regression", "exit_code": 1, "command": []string{"leakgate", "run", test}, "totals": map[string]any{"fail": 1, "assertions": 1},
		"packages": []any{map[string]any{"import_path": "example.com/app", "status": "fail", "assertions": []any{map[string]any{
			"schema": 1, "package": "example.com/app", "test": test, "seq": 1, "verdict": "fail", "message": test, "dir": "x",
			"bounds": []any{map[string]any{
				"selector": "", "verdict": "fail", "path": path, "held_by": []string{"held by the package variable " + path, "in " + path}, "also_held_by": []string{"for example " + path, "", "also held by " + path},
				"chain": []any{
					map[string]any{"name": path, "about": report.Roots[0].Type},
					map[string]any{"name": report.Roots[0].Name, "about": report.Roots[0].Type, "objects": 19531, "bytes": 1000, "suspect": true},
				},
			}},
			"totals": refscan.Totals{}, "retained_objects": 1, "retained_bytes": 1, "artifacts": map[string]string{"report": "report.json"},
			"findings": []any{map[string]any{"rule": "bound", "fingerprint": strings.Repeat("0f", 16), "text": path + ": 1 object", "path": path, "type": report.Roots[0].Type, "objects": 1}},
		}}}},
	})
	program, err := command()
	require.NoError(t, err)
	page := filepath.Join(dir, "leak.html")
	out, err := exec.Command(program, "view", "-o", page, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	return "file://" + page
}

// TestHostileNames has names with markup, script, and characters that reverse text: they are shown
// as text, and have no effect.
func TestHostileNames(t *testing.T) {
	const name = `</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">'"` + "\u202egnp.exe\u2066\x1b[31m"
	url := made(t, "Test"+name, "example.com/app."+name, &refscan.Report{Roots: []*refscan.Node{{
		Name: "example.com/app." + name, Type: "map[string]" + name, Figures: refscan.Figures{Objects: 9, Bytes: 900},
		Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/" + name, File: name, Line: 3},
		Children: []*refscan.Node{
			{Name: name, Type: name, Figures: refscan.Figures{Objects: 5, Bytes: 500, Ended: 1}, EndedState: name, Recursion: name},
			{Name: "__proto__", Type: "constructor", Figures: refscan.Figures{Objects: 1, Bytes: 10}},
		},
	}}})
	for _, theme := range []string{"light", "dark"} {
		p := openPage(t, url, 1200, 900, theme)
		p.do("leakgate.setDisplay('table'); leakgate.table.expand(0, Infinity); leakgate.choose(2)")
		p.picture("hostile-" + theme)
		p.do("leakgate.setDisplay('icicle'); leakgate.choose(1)")
		require.Equal(t, "undefined", eval[string](p, "typeof window.hacked"))
		require.Equal(t, 1, eval[int](p, "[...document.scripts].filter(s => s.type === '').length"), "the page's own script")
		require.Zero(t, eval[int](p, "document.images.length"))
		text := eval[string](p, "document.body.innerText")
		require.Contains(t, text, `Test</script><script>window.hacked=1</script><img src=x onerror=`)
		require.Contains(t, text, `\u202egnp.exe\u2066\u001b[31m`, "what turns text around is seen")
		require.NotContains(t, text, "\u202e")
		require.NotContains(t, eval[string](p, "document.title"), "\u202e")
		p.do("leakgate.find('__proto__')")
		require.Equal(t, 1, eval[int](p, "leakgate.matches.size"))
		p.accessible()
		p.clean()

		// The content security policy forbids what an error in the escaping would let in.
		p.do("const s = document.createElement('script'); s.textContent = 'window.hacked = 3'; document.body.append(s)")
		p.do("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 4\">')")
		require.Equal(t, "undefined", eval[string](p, "typeof window.hacked"))
	}
}

// TestLargeTree has 100,000 nodes. Only what is visible is drawn: boxes of a pixel or more, and the
// visible rows.
func TestLargeTree(t *testing.T) {
	report := &refscan.Report{}
	for r := range 100 {
		root := &refscan.Node{Name: fmt.Sprintf("example.com/app.root%d", r), Type: "map[string]*app.T", Figures: refscan.Figures{Objects: 1, Bytes: int64(1000 + r)}, Root: &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"}}
		for c := range 100 {
			child := &refscan.Node{Name: fmt.Sprintf("field%d", c), Type: fmt.Sprintf("*app.T%d", c), Figures: refscan.Figures{Objects: 3, Bytes: int64(100 + c)}}
			for g := range 9 {
				child.Children = append(child.Children, &refscan.Node{Name: fmt.Sprintf("leaf%d", g), Type: "string", Figures: refscan.Figures{Objects: 1, Bytes: int64(10 + g)}})
			}
			root.Children = append(root.Children, child)
		}
		report.Roots = append(report.Roots, root)
	}
	p := openPage(t, made(t, "TestLarge", "example.com/app.root99.field99", report), 1200, 900, "light")
	require.Equal(t, 100_000+100+1, eval[int](p, "leakgate.tree.n"))
	p.do("leakgate.setDisplay('icicle')")
	require.Less(t, eval[int](p, "leakgate.icicle.boxes.length"), 3*1200, "a box is at least a pixel wide, in each of 4 rows")
	p.do("leakgate.setDisplay('table'); leakgate.table.expand(0, Infinity)")
	require.Equal(t, 100_000+100, eval[int](p, "leakgate.table.rows.length"))
	p.do("leakgate.table.scroller.scrollTop = 1500000; leakgate.table.paint()")
	require.Less(t, eval[int](p, "document.querySelectorAll('.rows .row').length"), 60)
	took := eval[map[string]float64](p, `(() => {
		const out = {}, time = (name, f) => { const t = performance.now(); f(); out[name] = performance.now() - t; };
		time('build', () => leakgate.build());
		time('search', () => leakgate.find('leaf7'));
		time('expand', () => leakgate.table.expand(0, Infinity));
		time('scroll', () => { leakgate.table.scroller.scrollTop = 900000; leakgate.table.paint(); });
		leakgate.setDisplay('icicle');
		time('draw', () => leakgate.icicle.draw());
		time('zoom', () => leakgate.enlarge(leakgate.tree.ordered(0, 'bytes', 'after')[3]));
		return out;
	})()`)
	t.Logf("milliseconds for 100,000 nodes: %v", took)
	require.Equal(t, 10_000, eval[int](p, "leakgate.matches.size"))
	p.picture("large")
	p.clean()
}

// TestNativeBlocks checks that memory of C code is shown below what holds it, and that the page
// does not say that cutting it would free nothing, since that is not known.
func TestNativeBlocks(t *testing.T) {
	url := made(t, "TestNative", "example.com/app.statements", &refscan.Report{Retained: true, Roots: []*refscan.Node{
		{
			Name: "example.com/app.statements", Type: "[]*app.statement", Figures: refscan.Figures{Objects: 1, Bytes: 64}, RetainedObjects: 1, RetainedBytes: 64,
			Root:     &refscan.RootInfo{Kind: refscan.RootGlobal, Package: "example.com/app"},
			Children: []*refscan.Node{{Name: "c", Type: "native block", Figures: refscan.Figures{Objects: 4, Bytes: 1184}}},
		},
		{Name: "lost", Type: "native block", Figures: refscan.Figures{Objects: 9, Bytes: 7056}, Root: &refscan.RootInfo{Kind: refscan.RootNative, Package: "C"}},
	}})
	p := openPage(t, url, 1200, 900, "light")
	detail := func(path string) string {
		p.do("leakgate.goTo('" + path + "')")
		return eval[string](p, "document.querySelector('.detail').textContent")
	}
	require.Contains(t, detail("example.com/app.statements"), "cutting it frees64 B, 1 object")
	require.Contains(t, detail("example.com/app.statements.c"), "native block")
	require.NotContains(t, detail("example.com/app.statements.c"), "cutting it frees")
	lost := detail("lost")
	require.Contains(t, lost, "memory of C code")
	require.NotContains(t, lost, "cutting it frees")
	p.picture("native-blocks")
	p.clean()
}
