package growth

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/heldop"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A resource is what of the operating system's grows with the number of calls: descriptors of one
// target, child processes of one command.
type resource struct {
	kind  ledger.Kind
	level int    // of its name, from exactly to roughly
	name  string // "socket to 127.0.0.1:40001"
	state string // that all are in, else ""
	own   series

	native *nativeGrowth // of what C code has: by size, else nil

	holder *tree.Branch // the Go objects that stand for it, nil if there are none
}

// What the operating system has of a kind must grow by at least this much per call, and over all
// batches, to be taken for a leak. Threads and stacks come and go with how busy the program is.
const (
	minThreads        = 8
	minThreadsPerCall = 0.25
	minMapped         = 64 << 10 // bytes of mappings, over all batches
	minMappedPerCall  = 16       // bytes
	minStack          = 64 << 10 // bytes of stacks, in any number of batches: the runtime takes 32 KiB at a time
)

// resources returns what grows, after the snapshots so far. What is named exactly comes first; of
// the rest, what has a name in common may grow though none does by itself, such as connections to
// servers that each had another port.
func (x *Experiment) resources() []*resource {
	if slices.ContainsFunc(x.moments, func(m *moment) bool { return m.ledger == nil }) {
		return nil
	}
	var found []*resource
	for _, kind := range ledger.Kinds() {
		if kind.OfMalloc() && !x.knowsNative() {
			continue
		}
		explained := make(map[string]bool) // exact names
		for level := range ledger.Levels {
			sizes := make(map[*moment]map[string]int64)
			for _, m := range slices.Concat(x.moments, x.further) {
				sizes[m] = m.ledger.Sizes(kind, level, explained)
			}
			var grown []*resource
			for name := range sizes[x.last()] {
				r := &resource{kind: kind, level: level, name: name}
				r.own = x.series(func(m *moment) int64 { return sizes[m][name] })
				x.mappedInCalls(r)
				if r.keepsPace() && !(kind.OfMalloc() && x.isOfThreads(r)) {
					grown = append(grown, r)
				}
			}
			sort.Slice(grown, func(i, j int) bool {
				a, b := grown[i], grown[j]
				return cmp.Or(cmp.Compare(b.own.grown(), a.own.grown()), cmp.Compare(a.name, b.name)) < 0
			})
			for _, r := range grown {
				r.state = x.last().ledger.Explain(kind, level, r.name, explained)
			}
			found = append(found, grown...)
		}
	}
	return x.foldNative(found)
}

func (r *resource) keepsPace() bool {
	if r.own.grown() <= 0 {
		return false
	}
	all := len(r.own.values) > intervals
	switch r.kind {
	case ledger.Stack:
		return r.own.grown() >= minStack && r.own.perCall() >= minMappedPerCall && r.own.bytesKeepPace()
	case ledger.Native:
		return (!all || r.own.grown() >= minBlocks || r.own.isExact()) && r.own.perCall() >= minBlocksPerCall && r.own.countsKeepPace()
	case ledger.Mapping, ledger.NativeBytes:
		return (!all || r.own.grown() >= minMapped) && r.own.perCall() >= minMappedPerCall && r.own.bytesKeepPace()
	case ledger.Thread:
		return r.own.grown() > 1 && (!all || r.own.grown() >= minThreads) && r.own.perCall() >= minThreadsPerCall && r.own.countsKeepPace()
	case ledger.File:
		return r.own.isExact() && r.own.countsKeepPace()
	}
	return r.own.countsKeepPace()
}

// odd is how many calls the i-th batch, from 0 on, has beside those that double: none, unless temporary
// files grow. Tests of several packages run side by side and share a folder for these. Where another
// process finds its own leak of files by batches that double, at the same moments, its files would be
// taken for this one's; with numbers by chance in both they are in step with its calls alone.
func (x *Experiment) odd(i, batch int) int {
	if i == 0 || !slices.ContainsFunc(x.resources(), func(r *resource) bool { return r.kind == ledger.File }) {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprint(h, os.Getpid(), x.Now().UnixNano())
	return 1 + int(h.Sum64()%uint64(max(batch, minOdd)))
}

// minOdd is of how many numbers odd takes one at least.
const minOdd = 4

// isExact reports whether each batch added the same whole number for each call: what other processes
// put into a folder that all share does not.
func (s series) isExact() bool {
	each := int64(math.Round(s.perCall()))
	for i := 1; i < len(s.values); i++ {
		if each < 1 || s.values[i]-s.values[i-1] != each*(s.calls[i]-s.calls[i-1]) {
			return false
		}
	}
	return true
}

// addResources adds what grows of the operating system's to the leaks that were found. What comes
// with a leak on the heap, or with goroutines, is part of that leak.
func (x *Experiment) addResources(leaks []*leak) []*leak {
	all := x.resources()
	if len(all) == 0 {
		return leaks
	}
	handles, ignored := x.handles()
	var alone []*leak
	for _, r := range all {
		if r.handleIn(ignored) != nil || x.ignoresResource(r) {
			continue
		}
		r.holder = r.handleIn(handles)
		l := x.leakOf(r, leaks)
		if l == nil {
			l = leakWith(r, alone)
		}
		switch {
		case l != nil && l.goroutines != nil && r.kind == ledger.Stack:
			// a goroutine has a stack, which nobody needs to be told
		case l != nil:
			l.resources = append(l.resources, r)
		case len(x.Req.Scope) == 0: // nothing says whose it is
			alone = append(alone, &leak{resources: []*resource{r}})
		}
	}
	return append(foldMapper(leaks), alone...)
}

// ignoresResource reports whether an Ignore names the resource: "socket to 127.0.0.1:*".
func (x *Experiment) ignoresResource(r *resource) bool {
	return slices.ContainsFunc(x.Req.Ignores, func(i tree.Ignoring) bool { return i.Pattern.MatchWhole(r.name) })
}

// withoutUseful leaves out of notes that an Ignore matched nothing on the heap, where it names
// something that the operating system holds.
func (x *Experiment) withoutUseful(notes []string) []string {
	return slices.DeleteFunc(notes, func(note string) bool {
		return slices.ContainsFunc(x.Req.Ignores, func(i tree.Ignoring) bool {
			return strings.HasPrefix(note, fmt.Sprintf("Ignore(%q) matched nothing", i.Pattern.Text)) &&
				x.last().ledger != nil && slices.ContainsFunc(x.last().ledger.Items, func(it ledger.Item) bool {
				return slices.ContainsFunc(it.Names[:], i.Pattern.MatchWhole)
			})
		})
	})
}

// foldMapper puts the record that package syscall has of all mappings behind the leak that they
// belong to (go1.26 syscall/syscall_unix.go, mmapper).
func foldMapper(leaks []*leak) []*leak {
	const record = "syscall.mapper"
	var owner *leak
	for _, l := range leaks {
		if len(l.heads) > 0 && l.heads[0].Line()[0].Name != record && slices.ContainsFunc(l.resources, func(r *resource) bool { return r.kind == ledger.Mapping }) {
			owner = l
		}
	}
	if owner == nil {
		return leaks
	}
	return slices.DeleteFunc(leaks, func(l *leak) bool {
		is := len(l.heads) > 0 && l.goroutines == nil && l.heads[0].Line()[0].Name == record
		if is {
			owner.with = append(owner.with, l)
		}
		return is
	})
}

// handles returns the branches that grow and whose objects stand for descriptors or processes, and
// those of them that an Ignore leaves out.
func (x *Experiment) handles() (found, ignored []*tree.Branch) {
	of := func(f tree.Forest) (found []*tree.Branch) {
		f.All(func(b *tree.Branch) bool {
			if b.Objects > 0 && slices.Contains(tree.HandleTypes, strings.TrimLeft(b.Typ, "*")) {
				found = append(found, b)
			}
			return true
		})
		return found
	}
	found = of(x.last().forest.Growth(x.first().forest))
	if len(x.Req.Ignores) == 0 {
		return found, nil
	}
	for _, b := range of(heldop.Named(x.last().eval.Everything).Growth(heldop.Named(x.first().eval.Everything))) {
		if !slices.ContainsFunc(found, func(f *tree.Branch) bool { return f.GrowthKey() == b.GrowthKey() }) {
			ignored = append(ignored, b)
		}
	}
	return found, ignored
}

// handleIn returns the branch whose objects are as many as the resource grew by.
func (r *resource) handleIn(handles []*tree.Branch) *tree.Branch {
	var best *tree.Branch
	for _, b := range handles {
		isProcess := strings.HasPrefix(strings.TrimLeft(b.Typ, "*"), "os.Process") || strings.HasSuffix(b.Typ, "os.processHandle")
		switch {
		case r.kind != ledger.Process && r.kind != ledger.Descriptor, r.kind == ledger.Process && !isProcess:
		case isProcess && r.kind == ledger.Descriptor && r.name != "pidfd":
		case !keepStep(float64(b.Objects), float64(r.own.grown())):
		case best == nil || b.Objects == r.own.grown() && best.Objects != r.own.grown():
			best = b
		}
	}
	return best
}

// leakOf returns the leak on the heap or of goroutines that a resource comes with: the one that has
// the objects that stand for it, goroutines that pile up with it, or else what of the program's
// grows in step with it and may hold its number. nil if there is none.
func (x *Experiment) leakOf(r *resource, leaks []*leak) *leak {
	if r.holder != nil {
		root := r.holder.Line()[0]
		for _, l := range leaks {
			for _, with := range append([]*leak{l}, l.with...) {
				if slices.ContainsFunc(with.heads, func(h *tree.Branch) bool { return h.Line()[0].GrowthKey() == root.GrowthKey() }) {
					return l
				}
			}
		}
	}
	for _, l := range leaks {
		if x.holdsNative(l, r) {
			return l
		}
	}
	inStep := func(l *leak) bool { return keepStep(l.perCall(), r.own.perCall()) }
	for _, l := range leaks {
		if l.goroutines != nil && (r.kind == ledger.Stack || inStep(l) || r.kind == ledger.Thread && aboutAsMany(l.perCall(), r.own.perCall())) {
			return l
		}
	}
	for _, l := range leaks {
		if l.goroutines != nil || !x.mayHold(l) {
			continue
		}
		if r.kind.InBytes() || inStep(l) || r.kind == ledger.Native && isMultiple(r.own.perCall(), l.perCall()) || l.measure == inBytes && (inWords(l, r, 8) || inWords(l, r, 4)) {
			return l
		}
	}
	return nil
}

// aboutAsMany reports whether two rates are alike: of threads some come and go with how busy the
// program is.
func aboutAsMany(a, b float64) bool { return max(a, b) <= 1.5*min(a, b) }

// mayHold reports whether what grows is the program's, the test's, or a record of the standard
// library of the same things.
func (x *Experiment) mayHold(l *leak) bool { return !l.heads[0].IsMissed() }

// inWords reports whether the bytes of a leak are a number of so many bytes for each of a resource,
// as far as steps in which slices grow let that be told.
func inWords(l *leak, r *resource, size float64) bool {
	ratio := l.own.perCall() / (size * r.own.perCall())
	return ratio > 0.5 && ratio < 2
}

// leakWith returns the leak of resources that another one comes with: what grows as fast.
func leakWith(r *resource, leaks []*leak) *leak {
	for _, l := range leaks {
		if first := l.resources[0]; r.kind.InBytes() != first.kind.InBytes() || keepStep(first.own.perCall(), r.own.perCall()) {
			return l
		}
	}
	return nil
}

// isResource reports whether nothing on the heap and no goroutines grow with the leak.
func (l *leak) isResource() bool { return len(l.heads) == 0 && l.goroutines == nil }

// rate is "+1.00 fd/op: socket to 127.0.0.1:40001 (ESTABLISHED)".
func (r *resource) rate() string {
	if r.native != nil {
		return r.native.rate(r.own)
	}
	if r.kind.InBytes() {
		return "+" + bytesPerCall(r.own.perCall()) + "/op: " + r.what()
	}
	rate := perCall(r.own)
	s := rate + " " + r.kind.Noun(rate == "+1.00") + "/op"
	if r.kind == ledger.Thread || r.kind == ledger.Variable {
		return s
	}
	return s + ": " + r.what()
}

// what is the resource's name, with its state.
func (r *resource) what() string {
	s := textfmt.Abridge(r.name, message.MaxNameShown)
	if r.state != "" {
		s += " (" + r.state + ")"
	}
	return s
}

// resourceRates are those of all resources of the leak.
func (l *leak) resourceRates() string {
	rates := make([]string, len(l.resources))
	for i, r := range l.resources {
		rates[i] = r.rate()
	}
	return strings.Join(rates, ", ")
}

// explainResources says how the resources grew, and who holds them.
func (x *Experiment) explainResources(l *leak) []string {
	var lines []string
	held := false
	for _, r := range l.resources {
		lines = append(lines, r.own.show(r.kind.Counted()))
		by := x.nativeHeldBy(r)
		lines, held = append(lines, by...), held || by != nil
		if r.holder != nil {
			lines = append(lines, fmt.Sprintf("each belongs to a %s at %s", message.TypeText(r.holder), textfmt.Abridge(r.holder.Path, message.MaxNameShown)))
		}
	}
	if l.isResource() && !held {
		lines = append(lines, lost(l.resources[0])...)
	}
	calls := x.callsBehind(l)
	if lines = append(lines, calls...); calls != nil && !l.isResource() {
		lines = append(lines, "")
	}
	return lines
}

// resourcesOfPile are the resources that come with goroutines, a line each.
func (l *leak) resourcesOfPile() []string {
	var lines []string
	for _, r := range l.resources {
		lines = append(lines, "with each: "+r.rate())
	}
	return lines
}

// lost says that nothing of Go's grows with a resource.
func lost(r *resource) []string {
	switch r.kind {
	case ledger.Process:
		return []string{"no Go object grows with them: Wait is not called for what was started"}
	case ledger.Descriptor:
		return []string{"no Go object grows with them: lost, unless a number in memory that does not grow stands for them"}
	case ledger.Mapping:
		return []string{"no Go object grows with it: lost, or mapped by C"}
	case ledger.Native, ledger.NativeBytes:
		return []string{"no Go object grows with them: lost, or held by C code"}
	case ledger.Thread:
		return []string{"no goroutines grow with them: threads of C, or of goroutines that ended locked to theirs"}
	case ledger.File:
		if r.level == 0 && filepath.Dir(r.name) != filepath.Clean(os.TempDir()) {
			return []string{"they go with the test, as all in a folder of t.TempDir, and would stay in another folder: remove them"}
		}
		return []string{"they stay when the test ends: remove them, or make them in a folder of t.TempDir"}
	}
	return nil
}

// sparing is the size of the first batch: smaller than asked for where op leaves descriptors and
// would run into the limit of the process, so that all batches have room.
func (x *Experiment) sparing(batch int) int {
	if x.Resources == nil || x.Req.Iterations > 0 || x.calls == 0 {
		return batch
	}
	open, limit, err := ledger.OpenDescriptors()
	if err != nil || open <= x.open {
		return batch
	}
	perCall := float64(open-x.open) / float64(x.calls)
	const calls = 1<<(intervals+1) - 1
	left := float64(limit)*0.8 - float64(open)
	return max(1, min(batch, int(left/(calls*perCall))))
}

// provesResources reports whether no more resources are there than a leak of the smallest rate
// would leave, given what there was before so many calls. What is about to end has its moment.
func (x *Experiment) provesResources(before *ledger.Glance, calls int) bool {
	for i := range maxCounts {
		if i > 0 {
			x.awaitEnds(i)
		}
		now, err := ledger.TakeGlance()
		if err != nil {
			return false
		}
		if fewResources(now.NewSince(before), calls) {
			return true
		}
	}
	return false
}

// fewResources reports whether so little is new after so many calls that none of it can be a leak.
func fewResources(grown ledger.Amounts, calls int) bool {
	most := maxNew(minGrownPerCall, calls)
	for _, k := range ledger.Kinds() {
		allowed := most
		switch k {
		case ledger.Thread:
			allowed = maxNew(minThreadsPerCall, calls)
		case ledger.Mapping:
			allowed = int64(minMappedPerCall*calls) - 1
		case ledger.Stack:
			allowed = minStack - 1
		case ledger.Native, ledger.NativeBytes:
			continue // no glance sees them: provesNative
		}
		if grown[k] > allowed {
			return false
		}
	}
	return true
}

// weight is about the memory that the kernel needs for a resource, for those to be first that do
// most harm.
func (r *resource) weight() int64 {
	each := [...]int64{ledger.Process: 1 << 20, ledger.Descriptor: 2 << 10, ledger.Thread: 16 << 10, ledger.Native: 64, ledger.NativeBytes: 1, ledger.Mapping: 1, ledger.Stack: 1, ledger.File: 1 << 10, ledger.Variable: 64}
	if r.native != nil {
		return r.native.bytes
	}
	return each[r.kind] * r.own.grown()
}

// amount is how much of it was added, 0 of what is measured in bytes.
func (r *resource) amount() int64 {
	if r.kind.InBytes() {
		return 0
	}
	return r.own.grown()
}

// record is the resource as the record has it.
func (r *resource) record() verdict.Resource {
	rec := verdict.Resource{Kind: r.kind.String(), Name: r.name, State: r.state, Growth: r.rate(), Added: r.own.grown()}
	if r.holder != nil {
		rec.Holder = r.holder.Path
	}
	return rec
}

// resourceSeries is the series of a resource with the snapshots that there are by now.
func (x *Experiment) resourceSeries(r *resource) series {
	return x.series(func(m *moment) int64 {
		if m.ledger == nil {
			return 0
		}
		if r.native != nil {
			return r.native.count(m)
		}
		return m.ledger.Sizes(r.kind, r.level, nil)[r.name]
	})
}

// subject is what grows, as the head of a message says it. What goroutines keep open is said with them.
func (g *growth) subject() string {
	memory, resources := false, false
	for _, l := range g.leaks {
		memory = memory || !l.isResource()
		resources = resources || len(l.resources) > 0 && l.goroutines == nil
	}
	switch {
	case memory && resources:
		return "memory and resources grow"
	case resources:
		return "resources grow"
	}
	return "memory grows"
}
