package attribute

import (
	"iter"
	"runtime"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
)

// gathering divides the work of gathering from many objects among several goroutines.
type gathering struct {
	a       *attributor
	procs   int
	workers []*gatherer
	parts   []part
	aside   []setAside // portions of large objects
	tasks   []task
}

// A task is a piece of work: objects of one node or of several.
type task struct {
	runs        []run // n objects, from index skip of the first run on
	skip, n     int
	worker      *gatherer
	first, last int // indexes of its parts in worker.parts
}

// taskSize is how many objects a task has, and manyTasks how many tasks are worth more than one
// goroutine.
const (
	taskSize  = 512
	manyTasks = 4
)

func (t *gathering) prepare(a *attributor) {
	t.a, t.procs = a, a.options.Workers
	if t.procs == 0 {
		t.procs = runtime.GOMAXPROCS(0)
	}
	t.resetWorkers(1)
}

// resetWorkers makes sure that there are n workers, and that they have no parts.
func (t *gathering) resetWorkers(n int) {
	for _, w := range t.workers {
		w.reset()
	}
	t.ensureWorkers(n)
}

// ensureWorkers makes sure that there are n workers.
func (t *gathering) ensureWorkers(n int) {
	for len(t.workers) < n {
		w := &gatherer{a: t.a}
		w.aside.Sizes = t.a.options.Portions
		w.batch = typing.Batch{M: t.a.heap.Model, Typings: t.a.heap.Typings, Take: w.take}
		w.w = heaptype.Walker{Types: t.a.heap.Types, Emit: w.batch.Adder(), Aside: &w.aside}
		t.workers = append(t.workers, w)
	}
}

func (t *gathering) release() {
	for _, w := range t.workers {
		w.words.Release()
	}
}

// begin starts the parts of one node, and returns the gatherer that takes the node's references.
// The parts are in its list once it has sealed the last of them.
func (t *gathering) begin(n *Node) *gatherer {
	t.resetWorkers(1)
	t.workers[0].begin(n)
	return t.workers[0]
}

// all gathers from the n objects of some runs, and returns the parts in the order of the runs. They
// are valid until the next call of all or begin.
func (t *gathering) all(runs []run, n int) []part {
	if t.procs == 1 || n < manyTasks*t.a.options.TaskSize {
		t.resetWorkers(1)
		w := t.workers[0]
		w.gather(runs, 0, n)
		if len(w.owners) == 0 {
			return w.parts
		}
		t.tasks = append(t.tasks[:0], task{worker: w, last: len(w.parts)})
	} else {
		t.resetWorkers(t.procs)
		t.divide(runs, n)
		parallel.Share(t.procs, len(t.tasks), 1, func(i int, mine iter.Seq[int]) {
			w := t.workers[i]
			for i := range mine {
				k := &t.tasks[i]
				k.worker, k.first, w.task = w, len(w.parts), i
				w.gather(k.runs, k.skip, k.n)
				k.last = len(w.parts)
			}
		})
	}
	clear(t.parts)
	t.parts = t.parts[:0]
	for i := range t.tasks {
		k := &t.tasks[i]
		t.parts = append(t.parts, k.worker.parts[k.first:k.last]...)
	}
	t.portions(runs)
	return t.parts
}

// portions gathers from the portions that were set aside, and puts their parts behind the other
// parts of their nodes. Portions are in the order of tasks, whichever worker ran a task.
func (t *gathering) portions(runs []run) {
	t.aside = t.aside[:0]
	for _, w := range t.workers {
		t.aside = w.takeAside(t.aside)
	}
	if len(t.aside) == 0 {
		return
	}
	sort.SliceStable(t.aside, func(i, j int) bool { return t.aside[i].owner.task < t.aside[j].owner.task })
	t.ensureWorkers(t.procs)
	first := make([]int, t.procs)
	parallel.Share(t.procs, len(t.aside), 1, func(i int, mine iter.Seq[int]) {
		w := t.workers[i]
		first[i] = len(w.parts)
		for k := range mine {
			w.gatherPortion(&t.aside[k], k+1)
		}
	})
	for i, n := range first {
		t.parts = append(t.parts, t.workers[i].parts[n:]...)
	}
	for i := range runs {
		runs[i].node.at = i
	}
	sort.SliceStable(t.parts, func(i, j int) bool {
		a, b := &t.parts[i], &t.parts[j]
		return a.node.at < b.node.at || a.node == b.node && a.portion < b.portion
	})
	for i := range runs {
		runs[i].node.at = 0
	}
}

// divide divides n objects of some runs into tasks.
func (t *gathering) divide(runs []run, n int) {
	t.tasks = t.tasks[:0]
	skip := 0
	for n > 0 {
		k := task{runs: runs, skip: skip, n: min(n, t.a.options.TaskSize)}
		t.tasks = append(t.tasks, k)
		n -= k.n
		skip += k.n
		for len(runs) > 0 && skip >= len(runs[0].objs) {
			skip -= len(runs[0].objs)
			runs = runs[1:]
		}
	}
}
