package allocrun

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/alloccode"
	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/internal/envvar"
	slow "github.com/leakgate/leakgate/internal/testkit/require"
)

// toolchains are the Go versions whose runtimes are known.
var toolchains = []string{"go1.26.8", "go1.27.3"}

// A counted is what a run allocates.
type counted struct {
	types  map[string]int64            // objects by type, as rows of a table have it
	places map[string]map[string]int64 // by function and line: types
	told   map[string]int64            // objects whose type the code tells, by rows whose type the runtime is not told
}

// leakgate, and a runtime that records the type of each allocation itself, count the same objects
// of each type and at each line. The profile has no type at a line that the runtime did not record
// there. The code tells all types that the runtime is not told, except what reflect allocates.
func TestAgainstARuntimeThatRecordsTypes(t *testing.T) {
	slow.Slow(t)
	for _, toolchain := range toolchains {
		t.Run(toolchain, func(t *testing.T) {
			o := &oracle{toolchain: toolchain, folder: t.TempDir()}
			require.NoError(t, os.CopyFS(o.folder, os.DirFS("testdata/oracle")))
			o.build(t)
			const few, many = 300, 900
			recorded, ours := o.recorded(t, many).perOp(o.recorded(t, few), many-few), o.ours(t, many).perOp(o.ours(t, few), many-few)
			assert.Equal(t, recorded.types, ours.types)
			assert.Equal(t, int64(1), ours.types["oracle.Large"])
			assert.Greater(t, len(ours.types), 20)
			chosen := int64(0) // type chosen at run time
			for at, types := range ours.places {
				if strings.HasPrefix(at, "reflect.growslice:") {
					chosen += types[unknownType]
				}
			}
			assert.Equal(t, recorded.types[untyped], ours.told[untyped]+chosen)
			assert.GreaterOrEqual(t, ours.told[untyped], int64(9))
			o.checkPlaces(t, recorded.places, ours.places)
		})
	}
}

// perOp returns what one operation allocates, if c has ops operations more than few. It leaves out
// what not every operation does, such as what the tracer allocates now and then.
func (c counted) perOp(few counted, ops int64) counted {
	each := func(many, few map[string]int64) map[string]int64 {
		of := make(map[string]int64)
		for name, n := range many {
			if each := (n - few[name] + ops/2) / ops; each != 0 {
				of[name] = each
			}
		}
		return of
	}
	places := make(map[string]map[string]int64)
	for at, types := range c.places {
		if of := each(types, few.places[at]); len(of) > 0 {
			places[at] = of
		}
	}
	return counted{each(c.types, few.types), places, each(c.told, few.told)}
}

func newCounted() counted {
	return counted{make(map[string]int64), make(map[string]map[string]int64), make(map[string]int64)}
}

// An oracle is the program of testdata/oracle, built with a runtime that records types, and
// without.
type oracle struct {
	toolchain, folder string
	binary            string
	types             *alloccode.Types
	classes           []int64
}

func (o *oracle) env() []string {
	return append(os.Environ(), "GOTOOLCHAIN="+o.toolchain, "GOWORK=off", "GOFLAGS=", "GOGC=off", "GOMAXPROCS=1", envvar.Update.Set(""))
}

// build builds the program with the overlay. An overlay does not apply to files under their own
// names in the module cache, where toolchains are.
func (o *oracle) build(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Env = o.env()
	out, err := cmd.Output()
	require.NoError(t, err)
	root := filepath.Join(t.TempDir(), "goroot")
	require.NoError(t, os.Symlink(strings.TrimSpace(string(out)), root))
	o.binary = filepath.Join(t.TempDir(), "oracle.test")
	build := exec.Command(filepath.Join(root, "bin", "go"), "test", "-c", "-overlay", writeOverlay(t, root), "-o", o.binary, "-ldflags=-s=0 -w=0", ".")
	build.Dir, build.Env = o.folder, append(o.env(), "GOROOT="+root, "GOTOOLCHAIN=local")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	f, err := elf.Open(o.binary)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	byName := make(map[string]elf.Symbol)
	for _, s := range symbols {
		byName[s.Name] = s
	}
	o.types, err = readTypes(func(address, size uint64) []byte { return readMemory(f, address, size) }, byName)
	require.NoError(t, err)
	o.classes, err = readClasses(f, byName)
	require.NoError(t, err)
}

// recorded runs ops operations with the runtime that records types.
func (o *oracle) recorded(t *testing.T, ops int64) counted {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recorded")
	cmd := exec.Command(o.binary, "-test.run=TestOps", "-test.memprofilerate=1", "-test.memprofile="+file+".pb.gz")
	cmd.Dir, cmd.Env = o.folder, append(o.env(), "ORACLE="+file, fmt.Sprintf("ORACLE_OPS=%d", ops))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	c := newCounted()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var objects, size, requested int64
		var address uint64
		var at string
		_, _ = fmt.Sscanf(lines.Text(), "%d %d %d %x %s", &objects, &size, &requested, &address, &at)
		require.NotZero(t, objects, lines.Text())
		c.add(o.row(address, max(size, requested)), at, objects)
	}
	require.NoError(t, lines.Err())
	return c
}

// row names an object of a type and a size, as a table does.
func (o *oracle) row(address uint64, size int64) *TypeRow {
	n := &alloctrace.Count{Type: uintptr(address), Name: o.types.Name(address), TypeSize: o.types.Size(address), Size: size}
	if n.TypeSize < 16 && size <= 16 && !o.types.HasPointers(address) {
		n.Size = n.TypeSize // one of the objects that share a block
	}
	return kindOf(n, o.types, o.classes)
}

func (c *counted) add(r *TypeRow, at string, objects int64) {
	if !r.Records {
		c.types[r.Name] += objects
	}
	c.place(at, r.Name, objects)
}

// place records a type at a line. It drops the type arguments of a generic function.
func (c *counted) place(at, name string, objects int64) {
	if open, end := strings.IndexByte(at, '['), strings.LastIndexByte(at, ']'); open >= 0 && end > open {
		at = at[:open] + at[end+1:]
	}
	if c.places[at] == nil {
		c.places[at] = make(map[string]int64)
	}
	c.places[at][name] += objects
}

// ours runs ops operations as leakgate alloc does.
func (o *oracle) ours(t *testing.T, ops int64) counted {
	t.Helper()
	b, err := Build(t.Context(), &Config{
		Folder: t.TempDir(), Dir: o.folder, Env: append(o.env(), fmt.Sprintf("ORACLE_OPS=%d", ops)), Package: ".", Source: o.folder,
		Build: []string{"-ldflags=-s=0 -w=0"}, Args: []string{"-test.run=TestOps"}, Timeout: 5 * time.Minute,
	})
	require.NoError(t, err)
	r, err := b.Run(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Untraced)
	require.False(t, r.Failed, r.Output)
	c := newCounted()
	for _, row := range r.Types {
		if !row.Records {
			c.types[row.Name] += row.Objects
		}
		for _, n := range row.Of {
			c.told[row.Name] += n.Objects
		}
	}
	for _, s := range r.Profile.Sample {
		c.addSample(s)
	}
	return c
}

func (c *counted) addSample(s *profile.Sample) {
	line := s.Location[0].Line[0]
	c.place(fmt.Sprintf("%s:%d", line.Function.Name, line.Line), typeOf(s), s.Value[0])
}

// checkPlaces compares the labels of a profile with what the runtime recorded at the same lines.
func (o *oracle) checkPlaces(t *testing.T, recorded, ours map[string]map[string]int64) {
	t.Helper()
	var exact, known, all int64
	for at, labels := range ours {
		if recorded[at] == nil {
			continue // allocations of the tracer, and lines of the overlay
		}
		assert.Equal(t, sum(recorded[at]), sum(labels), at)
		for label, objects := range labels {
			all += objects
			if label == unknownType {
				continue
			}
			known += objects
			switch {
			case recorded[at][label] > 0:
				exact += objects
			case !consistent(label, recorded[at]):
				t.Errorf("%s: %s, where the runtime recorded %v", at, label, recorded[at])
			}
		}
	}
	t.Logf("%d objects in the profile, %d with a type, %d of these by a descriptor that the runtime recorded", all, known, exact)
	assert.Greater(t, float64(known), 0.9*float64(all))
	assert.Greater(t, float64(exact), 0.4*float64(all))
}

func sum(of map[string]int64) (all int64) {
	for _, n := range of {
		all += n
	}
	return all
}

// consistent reports whether a label can stand for a type that the runtime recorded at a line. The
// runtime is not told the types of strings and of arrays without pointers; of values in interfaces
// it is told only the kind. A slice of one element is one element, maps consist of several types,
// and generic functions have shapes for type arguments.
func consistent(label string, recorded map[string]int64) bool {
	for name := range recorded {
		generic, _, isGeneric := strings.Cut(name, "[go.shape.")
		switch {
		case name == untyped && (label == "string" || label == "(arrays without pointers)" || strings.HasPrefix(label, "[]") || strings.HasPrefix(label, "chan ")),
			strings.HasPrefix(name, "(values of kind "),
			(name == mapHeaders || strings.HasPrefix(name, "map[")) && !strings.HasPrefix(label, "[]"),
			label == "[]"+name || name == "[]"+label,
			isGeneric && strings.HasPrefix(label, generic+"["),
			name == "runtime.hchan" && strings.HasPrefix(label, "chan "), name == runtimes && strings.HasPrefix(label, "chan "):
			return true
		}
	}
	return false
}
