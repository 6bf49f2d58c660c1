package leakcheck

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

type (
	plainT             struct{ a int }
	genericT[K, V any] struct {
		k *K
		v V
	}
	embedsT struct {
		plainT
		*refscan.Node
		x int
		Y int `json:"y,omitempty"`
	}
)

// typesInBinary makes the compiler put the types below into the debug information of the test
// binary. It does so for types that become interface values while the program runs; a package
// variable's initial value does not count.
func typesInBinary() []any {
	var g genericT[int, int]
	var e embedsT
	_, _, _, _ = g.k, g.v, e.a, e.x
	return []any{
		new(plainT), new(*plainT), new(genericT[int, *plainT]), new(genericT[string, genericT[refscan.Node, []plainT]]),
		new(embedsT), make(map[string]*refscan.Node), make(map[plainT][]byte),
		[]*refscan.Node{},
		[3]rune{},
		make(chan *plainT), make(chan<- plainT), make(<-chan int), make(chan (<-chan int)),
		func(int, ...string) (*plainT, error) { return nil, nil }, func(any) error { return nil },
		new(struct {
			a plainT
			B string `json:"b"`
			refscan.Totals
		}),
		new(interface {
			N(int)
			M() string
		}),
		new(genericT[struct{ a int }, interface{ M() }]), new(genericT[func(int) error, any]),
		new(refscan.RootKind), new(error), new(any),
		struct{}{},
		new(chan func() <-chan int), uintptr(0),
	}
}

// A report has the names of debug information; typeName must make the same from reflection.
func TestTypeNamesAreTheCompilers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the debug information of an ELF file")
	}
	require.Slow(t)
	file := filepath.Join(t.TempDir(), "leakcheck.test")
	if out, err := exec.Command("go", "test", "-c", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	inBinary := dwarfTypeNames(t, file)
	for _, v := range typesInBinary() {
		typ := reflect.TypeOf(v)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if name := naming.TypeName(typ); !inBinary[name] {
			t.Errorf("the debug information has no type %s (%v)", name, typ)
		}
	}
}

func dwarfTypeNames(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return names
		}
		if name, ok := e.Val(dwarf.AttrName).(string); ok {
			names[naming.CleanType(name)] = true
		}
	}
}

func TestTypeMatches(t *testing.T) {
	type local struct{ X *int }
	pkg := "github.com/leakgate/leakgate/leakcheck."
	tests := []struct {
		selector Selector
		yes, no  []string
	}{
		{Type[plainT](), []string{pkg + "plainT", "*" + pkg + "plainT"}, []string{"[]" + pkg + "plainT", "**" + pkg + "plainT", ""}},
		{Type[*plainT](), []string{pkg + "plainT", "*" + pkg + "plainT"}, []string{"other.org/leakcheck.plainT"}},
		{Type[**plainT](), []string{"**" + pkg + "plainT"}, []string{"*" + pkg + "plainT"}},
		{Type[map[string]int](), []string{"map[string]int"}, []string{"*map[string]int"}},
		{Type[*map[string]int](), []string{"*map[string]int"}, []string{"map[string]int"}},
		{Type[[]byte](), []string{"[]uint8"}, []string{"*uint8"}},
		{Type[local](), []string{"*" + pkg + "local"}, nil},
		{Type[genericT[int, *plainT]](), []string{"*" + pkg + "genericT[int,*" + pkg + "plainT]"}, nil},
		{TypeNamed("leakcheck.plainT"), []string{pkg + "plainT", "*" + pkg + "plainT"}, []string{pkg + "plainTs"}},
		{TypeNamed("*leakcheck.plainT"), []string{"*" + pkg + "plainT"}, nil},
		{TypeNamed("*.plainT"), []string{"*" + pkg + "plainT"}, nil},
		{TypeNamed("leakcheck.*"), []string{"*" + pkg + "plainT"}, []string{"*other.org/x.T"}},
		{TypeNamed("map[string]*app.Session"), []string{"map[string]*example.com/app.Session"}, nil},
		{TypeNamed("map[string]any"), []string{"map[string]interface {}"}, nil},
		{TypeNamed("[]byte"), []string{"[]uint8"}, []string{"[]uint16"}},
		{TypeNamed("yaml.v3.Node"), []string{"*gopkg.in/yaml.v3.Node"}, nil},
	}
	for _, tt := range tests {
		if tt.selector.of.Err != nil {
			t.Errorf("%s: %v", tt.selector.of.Shown, tt.selector.of.Err)
		}
		for _, name := range tt.yes {
			if !tt.selector.of.Types.Matches(name) {
				t.Errorf("%s does not match %s", tt.selector.of.Shown, name)
			}
		}
		for _, name := range tt.no {
			if tt.selector.of.Types.Matches(name) {
				t.Errorf("%s matches %s", tt.selector.of.Shown, name)
			}
		}
	}
}

func TestCleanAndShortNames(t *testing.T) {
	if got := naming.CleanType("*gopkg.in/yaml%2ev3.Cache[main.L·2,int]"); got != "*gopkg.in/yaml.v3.Cache[main.L,int]" {
		t.Error(got)
	}
	for name, want := range map[string]string{
		`*struct { A x.example/a.B "json:\"a/b\"" }`:          `*struct { A a.B "json:\"a/b\"" }`,
		"struct { A int `path:\"/a/b\"`; B example.com/c.D }": "struct { A int `path:\"/a/b\"`; B c.D }",
		`struct { A int "no end/x`:                            `struct { A int "no x`,
	} {
		if got := naming.ShortName(name); got != want {
			t.Errorf("shortName(%s) = %s, want %s", name, got, want)
		}
	}
	if got := naming.ShortName("map[example.com/a.K]*gopkg.in/yaml.v3.Node"); got != "map[a.K]*yaml.v3.Node" {
		t.Error(got)
	}
	if got := fmt.Sprint(naming.Suggest("app.sesions", slices.Clone(appNames.Roots))); got != "[example.com/app.sessions other.org/app.sessions2]" {
		t.Error(got)
	}
}
