package leakcheck

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// pathShapes are packages of one module, below its path. The last elements of some have dots, which
// the linker escapes. "types" has no function, and so no escaped name.
var pathShapes = []string{"", "plain", "plain.go", "plus+x", "til~de", "v2", "v2.go", "Upper.Case", "yaml.v3", "many.dots.in.it", "yaml.v3/v2", "types.only"}

// TestEndToEndPackagePaths runs a module whose packages have import paths of many shapes. Each
// leaks a goroutine with an object, an object of a generic type, and one that a package variable
// holds. Bounds and the golden file see them; a scope of another package does not.
func TestEndToEndPackagePaths(t *testing.T) {
	require.Slow(t)
	for _, module := range []string{"github.com/acme/shop.go", "shop"} {
		t.Run(path.Base(module), func(t *testing.T) {
			m := newScratchModule(t)
			m.write(t, "go.mod", strings.Replace(m.read(t, "go.mod"), "example.com/app", module, 1))
			m.empty(t)
			imports, table := "", ""
			for i, shape := range pathShapes {
				source, leak := shapedPackage, fmt.Sprintf("p%d.Watch()", i)
				if shape == "types.only" {
					source, leak = "package shop\n\ntype Cart struct{ Items [2]string }\n", "" // no function
				}
				if shape != "" { // a scope may be a package's name, too
					source = strings.Replace(source, "package shop", fmt.Sprintf("package p%d", i), 1)
				}
				m.write(t, path.Join(shape, "shop.go"), source)
				imports += fmt.Sprintf("\tp%d %q\n", i, path.Join(module, shape))
				table += fmt.Sprintf("\t{%q, func() { boxes = append(boxes, new(p0.Box[*p%d.Cart])); %s }, leakcheck.Type[*p%[2]d.Cart](), leakcheck.Type[*p0.Box[*p%[2]d.Cart]]()},\n",
					path.Join(module, shape), i, leak)
			}
			m.write(t, "shop_test.go", strings.NewReplacer("IMPORTS", imports, "TABLE", table).Replace(shapedTest))
			out, ok := m.run(t, ".", nil, "go", "test", "-count=1", "-v", ".")
			require.False(t, ok, out)
			for _, shape := range pathShapes {
				full := path.Join(module, shape)
				if !strings.Contains(out, "    --- FAIL: TestRed/Bounds_"+full+" ") {
					t.Errorf("bounds on %s are not red", full)
				}
				if shape == "types.only" {
					continue
				}
				if !strings.Contains(out, "    --- FAIL: TestRed/Scope_"+full+" ") {
					t.Errorf("a bound with the scope %s is not red", full)
				}
				for _, bound := range []string{"Root(%q).None()", "Goroutines(%q).None()"} {
					bound = fmt.Sprintf(bound, full+map[string]string{"R": ".Kept", "G": ".Watch"}[bound[:1]])
					if !strings.Contains(out, bound+"\n            found ") {
						t.Errorf("%s is not red", bound)
					}
				}
			}
			for _, green := range []string{"--- PASS: TestGreen ", "--- PASS: TestGolden "} {
				if !strings.Contains(out, green) {
					t.Errorf("no %s", green)
				}
			}
			lines := m.read(t, "testdata/leakcheck/TestGolden.golden")
			for _, path := range []string{module + ".wait.c ", module + ".Kept[*] ", module + "_test.boxes[*] "} {
				if !strings.Contains(lines, "  "+path) {
					t.Errorf("the golden file has no line for %s:\n%s", path, lines)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

const shapedPackage = `package shop

type Cart struct{ Items [2]string }

type Box[T any] struct{ Value T }

var (
	Kept  []*Cart
	Boxes []any
)

func Watch() {
	c := new(Cart)
	go func() {
		select {}
		c.Items[0] = ""
	}()
	go wait(c)
	Kept = append(Kept, new(Cart))
}

func wait(c *Cart) {
	var never chan int
	<-never
	c.Items[0] = ""
}
`

const shapedTest = `package shop_test

import (
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
IMPORTS)

var boxes []any

var all = []struct {
	path         string
	leak         func()
	carts, boxes leakcheck.Selector
}{
TABLE}

func TestRed(t *testing.T) {
	for _, p := range all {
		p.leak()
		t.Run("Scope_"+p.path, func(t *testing.T) { leakcheck.AssertRetained(t, leakcheck.Scope(p.path), p.carts.None()) })
		t.Run("Bounds_"+p.path, func(t *testing.T) {
			bounds := []leakcheck.Option{p.boxes.None()}
			if p.path != all[len(all)-1].path {
				bounds = append(bounds, leakcheck.Goroutines(p.path+".Watch").None(), leakcheck.Root(p.path+".Kept").None())
			}
			leakcheck.AssertRetained(t, bounds...)
		})
	}
}

func TestGreen(t *testing.T) {
	for i, p := range all {
		leakcheck.AssertRetained(t, leakcheck.Scope(p.path), all[(i+1)%len(all)].carts.None())
	}
}

func TestGolden(t *testing.T) {
	for _, p := range all {
		p.leak()
	}
	leakcheck.AssertRetained(t)
}
`

func (m *scratchModule) write(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join(m.dir, filepath.FromSlash(file))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func (m *scratchModule) read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(file)))
	require.NoError(t, err)
	return string(data)
}
