package twin

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestMain(m *testing.M) { progtest.Main(m) }

// TestSameProgram runs the check that a twin has to pass, on twins and on different programs.
func TestSameProgram(t *testing.T) { checkSystem(t) }

func TestSameProgramWithTrimpath(t *testing.T) {
	require.Slow(t) // it compiles the standard library again
	require.ErrorIs(t, Check(progtest.Open(t, progtest.Build(t, "-trimpath")), progtest.Open(t, progtest.Build(t))), ErrDiffers)
}

// TestSameProgramElsewhere is TestSameProgram for systems with other formats.
func TestSameProgramElsewhere(t *testing.T) {
	require.Slow(t)
	systems := []string{"GOOS=windows GOARCH=amd64", "GOOS=darwin GOARCH=arm64"}
	if progtest.Long() {
		systems = append(systems, "GOOS=linux GOARCH=arm64", "GOOS=windows GOARCH=arm64", "GOOS=darwin GOARCH=amd64", "GOTOOLCHAIN=go1.27.3",
			"GOOS=windows GOARCH=amd64 GOTOOLCHAIN=go1.27.3", "GOOS=darwin GOARCH=arm64 GOTOOLCHAIN=go1.27.3")
	}
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			checkSystem(t, strings.Fields(system)...)
			require.ErrorIs(t, Check(progtest.Open(t, progtest.Build(t)), progtest.Open(t, progtest.Build(t, strings.Fields(system)...))), ErrDiffers)
		})
	}
}

// checkSystem builds for the system that the environment variables say, and compares programs.
func checkSystem(t *testing.T, env ...string) {
	build := func(flags ...string) *objfile.File {
		return progtest.Open(t, progtest.Build(t, append(flags, env...)...))
	}
	plain := build()
	require.NoError(t, Check(plain, plain))
	require.NoError(t, Check(build("-ldflags=-s -w"), build("-ldflags=-f -f")))
	require.ErrorIs(t, Check(plain, build("-gcflags=-N -l")), ErrDiffers)
	require.ErrorIs(t, Check(plain, build("-ldflags=-X main.nothing=longer")), ErrDiffers)
	if env != nil && progtest.Long() { // -trimpath compiles the standard library again
		require.ErrorIs(t, Check(build("-trimpath"), plain), ErrDiffers)
	}
	differentInOnePlace(t, plain)
}

// differentInOnePlace compares a program with copies of the same layout that each differ from it in
// one place.
func differentInOnePlace(t *testing.T, f *objfile.File) {
	b, err := os.ReadFile(f.Path)
	require.NoError(t, err)
	p, err := dwarfread.Read(f)
	require.NoError(t, err)
	i := slices.IndexFunc(p.Functions, func(f symindex.Function) bool { return f.Name == "main.frame" })
	require.NotEqual(t, -1, i)
	m, err := modulesOf(f, f)
	require.NoError(t, err)
	head, _ := m.words(moduleHeader)
	table, _ := m.words(moduleTable)
	noptr, _ := m.words(moduleNoPtrData)
	data, _ := m.words(moduleData)
	for name, addr := range map[string]uint64{
		"code":           p.Functions[i].Entry + 1,
		"function table": table + uint64(len(p.Functions)),
		"names":          head + 200,
		"variable":       data + 8,
		"noptr variable": noptr + 8,
		"module":         m.addr + moduleData,
	} {
		t.Run(name, func(t *testing.T) {
			s := f.Sections[slices.IndexFunc(f.Sections, func(s *objfile.Section) bool { return s.Flags&objfile.Loaded != 0 && s.Has(addr) })]
			changed := bytes.Clone(b)
			changed[s.Offset+addr-s.Addr] ^= 0x40
			other, err := anyfile.Read(bytes.NewReader(changed), int64(len(changed)))
			require.NoError(t, err)
			require.ErrorIs(t, Check(f, other), ErrDiffers)
			require.ErrorIs(t, Check(other, f), ErrDiffers)
		})
	}
}
