package allocrun

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/symbolize"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan/foreign"
)

// A Process says which process to look into, and for how long. It is neither stopped nor changed:
// what its memory profiler records is read twice.
type Process struct {
	PID   int
	Exe   string // the unstripped file of the same build; "" for the file that the process runs
	For   time.Duration
	Begun func() // called when the first reading is done
}

// Sampling says how far figures are estimates.
type Sampling struct {
	Rate    int64         `json:"rate"` // one sample in so many bytes; 1: every object
	Samples int64         `json:"samples"`
	Error   int64         `json:"error"` // of all objects, as in TypeRow
	Bytes   int64         `json:"bytes"`
	Elapsed time.Duration `json:"nanoseconds"`
}

// Allocations waits, and returns what the process has allocated meanwhile. If ctx ends, it waits no
// longer. Errors are those of package foreign, or about the program's file.
func (p *Process) Allocations(ctx context.Context) (*Result, error) {
	exe := p.Exe
	if exe == "" {
		exe = fmt.Sprintf("/proc/%d/exe", p.PID)
	}
	counters, err := foreign.OpenCounters(context.WithoutCancel(ctx), p.PID, foreign.WithExecutable(exe))
	if err != nil {
		return nil, err
	}
	defer func() { _ = counters.Close() }()
	maps, err := p.maps(exe)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	earlier, err := counters.Moment()
	if err != nil {
		return nil, err
	}
	p.Begun()
	select {
	case <-time.After(p.For):
	case <-ctx.Done():
	}
	all, err := counters.Since(earlier)
	if err != nil {
		return nil, err
	}
	s := &sampled{sampling: Sampling{Rate: earlier.Rate, Elapsed: time.Since(start)}}
	if err := s.name(all, maps); err != nil {
		return nil, err
	}
	return s.result(exe, counters.Bias())
}

// maps returns the memory map of the process. What is mapped of its program is that of exe.
func (p *Process) maps(exe string) ([]*dump.Mapping, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
	if err != nil {
		return nil, err
	}
	maps, err := dump.ParseMaps(text)
	if err != nil {
		return nil, err
	}
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
	if err != nil {
		return nil, err
	}
	for _, m := range maps {
		if m.File == own || m.Deleted && m.File+" (deleted)" == own {
			m.File, m.Deleted = exe, false
		}
	}
	return maps, nil
}

// sampled is what the memory profiler of a process has recorded.
type sampled struct {
	sampling Sampling
	profile  *profile.Profile
	of       map[*profile.Sample]foreign.Sampled
}

// parts are how many parts of an object or byte the values of a profile count while they are summed
// up, so that rounding does not add up.
const parts = 1000

// name makes a profile of what was recorded, with the names of functions.
func (s *sampled) name(all []foreign.Sampled, maps []*dump.Mapping) error {
	s.of = make(map[*profile.Sample]foreign.Sampled)
	s.profile = &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}},
		DefaultSampleType: "alloc_objects", PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		Period: s.sampling.Rate, DurationNanos: s.sampling.Elapsed.Nanoseconds(),
	}
	at := make(map[uint64]*profile.Location)
	for _, n := range all {
		objects := float64(n.Objects) / chance(n.Size, s.sampling.Rate)
		sample := &profile.Sample{
			Value:    []int64{int64(math.Round(parts * objects)), int64(math.Round(parts * objects * float64(n.Size)))},
			NumLabel: map[string][]int64{"bytes": {n.Size}},
		}
		for _, pc := range n.Stack {
			l := at[pc-1] // an address in the call
			if l == nil {
				l = &profile.Location{ID: uint64(len(at) + 1), Address: pc - 1}
				at[pc-1] = l
				s.profile.Location = append(s.profile.Location, l)
			}
			sample.Location = append(sample.Location, l)
		}
		s.profile.Sample = append(s.profile.Sample, sample)
		s.of[sample] = n
		s.sampling.Samples += n.Objects
	}
	if _, err := symbolize.Apply(&dump.HeapProfile{Profile: s.profile}, &symbolize.Sources{Maps: maps}); err != nil {
		return err
	}
	for _, sample := range s.profile.Sample {
		sample.Location = calls(sample.Location)
	}
	return nil
}

// chance is the probability that an object is sampled.
func chance(size, rate int64) float64 {
	if rate <= 1 {
		return 1
	}
	return 1 - math.Exp(-float64(size)/float64(rate))
}

// A spread is how far an estimate of objects may be off. Each object was sampled by itself, so that
// variances add up.
type spread struct{ variance, most float64 }

func (s *spread) add(n foreign.Sampled, rate int64) {
	p := chance(n.Size, rate)
	each := (1 - p) / (p * p)
	s.variance += float64(n.Objects) * each
	s.most = max(s.most, each)
}

// margin is half of the interval that has the true number in 19 of 20 cases. With one sample more
// that is so from three samples on, as a simulation shows: if few were taken, the variance that
// they tell is too small more often than too large.
func (s *spread) margin() int64 {
	if s == nil {
		return 0
	}
	return int64(math.Round(1.96 * math.Sqrt(s.variance+s.most)))
}

// spreads has the spreads of rows.
type spreads[K comparable] map[K]*spread

func (s spreads[K]) add(row K, n foreign.Sampled, rate int64) {
	if s[row] == nil {
		s[row] = new(spread)
	}
	s[row].add(n, rate)
}

// calls returns the locations of a stack that are calls, without the runtime's at its inner end.
// The runtime's stacks have an entry for each inlined function, too; the innermost one names all.
func calls(stack []*profile.Location) (list []*profile.Location) {
	for i := 0; i < len(stack); {
		l := stack[i]
		i++
		for inlined := len(l.Line) - 1; inlined > 0 && i < len(stack) && outermost(stack[i]) == outermost(l); inlined-- {
			i++
		}
		if len(list) > 0 || slices.ContainsFunc(l.Line, isCall) {
			list = append(list, l)
		}
	}
	return list
}

// isCall reports whether a line is none of the runtime's. A location is a call if any of its lines
// is one: the runtime is inlined into a program, and what the program exports to C into a wrapper
// without a package.
func isCall(line profile.Line) bool {
	return line.Function != nil && !symbol.IsRuntime(symbol.Package(line.Function.Name))
}

// outermost is the function that the code of a location belongs to.
func outermost(l *profile.Location) string {
	if len(l.Line) == 0 || l.Line[len(l.Line)-1].Function == nil {
		return ""
	}
	return l.Line[len(l.Line)-1].Function.Name
}

// result sums up by type and by line.
func (s *sampled) result(exe string, bias uint64) (*Result, error) {
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return nil, err
	}
	r := &Result{Package: info.Path, Sampling: &s.sampling, Profile: s.profile}
	program, classes, err := codeOf(exe, bias)
	if err != nil {
		r.Untraced = err.Error()
	}
	labelTypes(s.profile, program, classes)
	own := ownPackages(info.Main.Path, "main")
	var types sums
	ofType, ofSite, all := make(spreads[string]), make(spreads[place]), new(spread)
	for _, sample := range s.profile.Sample {
		name := typeOf(sample)
		types.add(name, sample)
		at, _ := siteOf(sample, own)
		n := s.of[sample]
		ofType.add(name, n, s.sampling.Rate)
		ofSite.add(at, n, s.sampling.Rate)
		all.add(n, s.sampling.Rate)
		r.Objects += sample.Value[0]
		s.sampling.Bytes += sample.Value[1]
	}
	for _, n := range types.list() {
		r.Types = append(r.Types, &TypeRow{Name: n.Name, Objects: whole(n.Objects), Bytes: whole(n.Bytes), Error: ofType[n.Name].margin()})
	}
	r.Sites = sitesOf(s.profile, own)
	for _, n := range r.Sites {
		n.Error = ofSite[place{n.Func, n.File, n.Line}].margin()
		if n.Func == elsewhere {
			n.Func = ofOthers
		}
		n.Objects, n.Bytes = whole(n.Objects), whole(n.Bytes)
		for _, c := range n.By {
			c.Objects, c.Bytes = whole(c.Objects), whole(c.Bytes)
		}
		for _, t := range n.Types {
			t.Objects, t.Bytes = whole(t.Objects), whole(t.Bytes)
		}
	}
	r.Objects, s.sampling.Bytes, s.sampling.Error = whole(r.Objects), whole(s.sampling.Bytes), all.margin()
	r.SiteObjects, r.SiteBytes = r.Objects, s.sampling.Bytes
	for _, sample := range s.profile.Sample {
		sample.Value[0], sample.Value[1] = whole(sample.Value[0]), whole(sample.Value[1])
	}
	return r, nil
}

// ofOthers is the site of stacks without a line of the program's own module.
const ofOthers = "(no function of the module on the stack)"

func whole(n int64) int64 { return (n + parts/2) / parts }

// codeOf reads the code of a program that is loaded with this bias, and the sizes of its heap's
// classes.
func codeOf(exe string, bias uint64) (*program, []int64, error) {
	p, err := openProgram(exe, bias)
	if err != nil {
		return nil, nil, err
	}
	f, err := elf.Open(exe)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, nil, err
	}
	const name = "internal/runtime/gc.SizeClassToSize"
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		return nil, nil, errors.New("the program has no table of size classes: this Go version is not known to leakgate alloc")
	}
	classes, err := readClasses(f, map[string]elf.Symbol{name: symbols[i]})
	return p, classes, err
}
