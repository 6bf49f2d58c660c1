//go:build amd64 || arm64

package judges_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/native"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A variable is one of the subject's variables, as the subject reports it.
type variable struct {
	Func, Name, Type string
	Addr, Size, CFA  uint64
	Live             bool
}

// subject is a process that has frozen itself and reported its variables.
type subject struct {
	pid     int
	Globals []variable
	Locals  []variable
}

// startSubject builds the subject with the toolchain of the test and runs it.
func startSubject(t *testing.T, flags ...string) *subject {
	t.Helper()
	program := filepath.Join(t.TempDir(), "subject")
	build, err := exec.Command("go", append(append([]string{"build", "-C", "../../.."}, flags...), "-o", program, "./internal/testkit/judge/testdata/subject")...).CombinedOutput()
	require.NoError(t, err, "%s", build)
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	s := &subject{pid: cmd.Process.Pid}
	require.NoError(t, json.Unmarshal(line, s))
	return s
}

// attach lets delve stop the subject until the test ends.
func (s *subject) attach(t *testing.T) *proc.Target {
	t.Helper()
	group, err := native.Attach(s.pid, nil, nil)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || (err != nil && strings.Contains(err.Error(), "operation not permitted")) {
		t.Skipf("delve needs ptrace, which is not permitted here: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, group.Detach(true)) })
	return group.Selected
}

// Variants of builds: in the first, variables are in registers and in pieces; in the last, all are
// in memory.
var variants = map[string][]string{
	"default":         nil,
	"pie":             {"-buildmode=pie"},
	"no optimisation": {"-gcflags=all=-N -l"},
}

// TestDelve compares leakgate's findings about a process's variables with those of a debugger.
func TestDelve(t *testing.T) {
	for name, flags := range variants {
		t.Run(name, func(t *testing.T) {
			s := startSubject(t, flags...)
			target := s.attach(t)
			s.compareGlobals(t, target)
			s.compareLocals(t, target)
		})
	}
}

// packageVariables returns the package variables that delve lists, by leakgate's names.
func packageVariables(t *testing.T, target *proc.Target) map[string]*proc.Variable {
	t.Helper()
	scope, err := proc.ThreadScope(target, target.CurrentThread())
	require.NoError(t, err)
	found, err := scope.PackageVariables(proc.LoadConfig{})
	require.NoError(t, err)
	all := make(map[string]*proc.Variable)
	for _, v := range found {
		all[unescape(v.Name)] = v
	}
	return all
}

// sameVariable requires that a package variable has the address and the type that delve gives it.
func sameVariable(t *testing.T, d *proc.Variable, name, typ string, addr uint64) {
	t.Helper()
	require.NotNil(t, d, "delve does not list %s", name)
	require.Equal(t, d.Addr, addr, "address of %s", name)
	require.Equal(t, delveType(d), typ, "type of %s", name)
}

// compareGlobals requires the same package variables as delve, all of them.
func (s *subject) compareGlobals(t *testing.T, target *proc.Target) {
	t.Helper()
	delves := packageVariables(t, target)
	ours := make(map[string]bool)
	for _, v := range s.Globals {
		ours[v.Name] = true
		d := delves[v.Name]
		sameVariable(t, d, v.Name, v.Type, v.Addr)
		require.EqualValues(t, d.DwarfType.Common().ByteSize, v.Size, "size of %s", v.Name)
	}
	require.True(t, ours["main.nested"])
	for name, d := range delves {
		if !ours[name] && d.Addr != 0 && d.DwarfType.Common().ByteSize > 0 {
			t.Errorf("%s %s at %#x: delve alone has it", name, delveType(d), d.Addr)
		}
	}
	t.Logf("%d package variables compared", len(ours))
}

// delveType is a variable's type as delve names it, without the escapes of dots in the last element
// of import paths, which symbols have.
func delveType(v *proc.Variable) string { return unescape(v.TypeString()) }

func unescape(symbol string) string { return strings.ReplaceAll(symbol, "%2e", ".") }

// place identifies a variable of a frame: addresses distinguish goroutines.
type place struct {
	fn, name string
	addr     uint64
}

// call is a call under way; inlined ones share the frame of their caller.
type call struct {
	fn  string
	cfa int64
}

// compareLocals requires that delve finds every variable that leakgate finds in memory, at the same
// address and with the same type. The lists differ in these points:
//   - Location lists may give a place for an inlined function's variable after the end of the
//     function's code. Delve lists only the variables of inlined calls that are under way.
//   - Delve lists dead variables, without an address, and variables in pieces and registers, to
//     which it gives addresses of its own.
//   - Variables without pointers keep nothing alive, so leakgate does not list them.
//   - The goroutine that froze the process has continued.
//   - The functions that the compiler makes of go statements have only variables that the compiler
//     made, too.
//   - Delve knows the type arguments of a generic function from its dictionary, if that is in the
//     frame.
func (s *subject) compareLocals(t *testing.T, target *proc.Target) {
	t.Helper()
	delves, calls := delveLocals(t, target)
	ours := make(map[place]bool)
	live := make(map[string]bool)
	compared := 0
	for _, v := range s.Locals {
		at := place{v.Func, v.Name, v.Addr}
		ours[at] = true
		live[v.Func+"."+v.Name] = v.Live
		switch d := delves[at]; {
		case d != nil && strings.Contains(v.Type, "go.shape."):
			assert.EqualValues(t, d.DwarfType.Common().ByteSize, v.Size, "size of %s.%s", v.Func, v.Name)
			compared++
		case d != nil:
			assert.Equal(t, delveType(d), v.Type, "type of %s.%s", v.Func, v.Name)
			compared++
		case calls[call{v.Func, int64(v.CFA)}]:
			t.Errorf("%s.%s %s: delve has none at %#x", v.Func, v.Name, v.Type, v.Addr)
		}
	}
	for at, d := range delves {
		switch {
		case ours[at] || at.addr == 0 || at.addr >= fakeAddresses || !hasPointers(d.RealType) || strings.HasPrefix(at.fn, "main.main.gowrap"):
		case strings.HasPrefix(at.fn, "main."):
			t.Errorf("%s.%s %s at %#x: delve alone has it", at.fn, at.name, delveType(d), at.addr)
		}
	}
	for name, want := range map[string]bool{
		"main.pointers.local": true, "main.aggregates.m": true, "main.closures.f": true, "main.dead.gone": false, "main.(*node).method.n": true,
	} {
		is, listed := live[name]
		assert.True(t, listed, name)
		assert.Equal(t, want, is, "whether %s is live", name)
	}
	require.Greater(t, compared, 50)
	t.Logf("%d of %d variables compared; delve lists %d", compared, len(ours), len(delves))
}

// fakeAddresses is the lowest address that delve gives to variables that are not in memory in one
// piece (its fakeAddressUnresolv).
const fakeAddresses = 0xbeed000000000000

// mainGoroutine is the goroutine that froze the subject. It has continued since: delve may find it
// anywhere between there and its wait for the end of its input.
const mainGoroutine = 1

// delveLocals lists the variables that delve finds in all frames of all other goroutines, and the
// calls under way.
func delveLocals(t *testing.T, target *proc.Target) (map[place]*proc.Variable, map[call]bool) {
	t.Helper()
	goroutines, _, err := proc.GoroutinesInfo(target, 0, 1000)
	require.NoError(t, err)
	found, calls := make(map[place]*proc.Variable), make(map[call]bool)
	for _, g := range goroutines {
		if g.ID == mainGoroutine {
			continue
		}
		frames, err := proc.GoroutineStacktrace(target, g, 50, 0)
		require.NoError(t, err)
		for i := range frames {
			if frames[i].Call.Fn == nil {
				continue
			}
			vars, err := proc.FrameToScope(target, target.Memory(), g, 0, frames[i:]...).Locals(0, "")
			if err != nil {
				continue // code without debug information: assembly
			}
			fn := unescape(frames[i].Call.Fn.Name)
			calls[call{fn, frames[i].Regs.CFA}] = true
			for _, v := range vars {
				found[place{fn, v.Name, v.Addr}] = v
			}
		}
	}
	return found, calls
}

// hasPointers reports whether a type can keep anything alive.
func hasPointers(t godwarf.Type) bool {
	switch t := t.(type) {
	case *godwarf.StructType:
		for _, f := range t.Field {
			if hasPointers(f.Type) {
				return true
			}
		}
		return false
	case *godwarf.ArrayType:
		return t.Count > 0 && hasPointers(t.Type)
	case *godwarf.TypedefType:
		return hasPointers(t.Type)
	case *godwarf.QualType:
		return hasPointers(t.Type)
	case *godwarf.BoolType, *godwarf.IntType, *godwarf.UintType, *godwarf.FloatType, *godwarf.ComplexType,
		*godwarf.CharType, *godwarf.UcharType, *godwarf.AddrType, *godwarf.EnumType:
		return false
	}
	return true
}
