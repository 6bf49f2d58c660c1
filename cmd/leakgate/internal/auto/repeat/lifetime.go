package repeat

// Lifetimes takes the functions of package ended, which only a module that is instrumented calls.
func Lifetimes(begin func(), each func(visit func(key string, made, ended, nothing int64))) {
	beginLifetimes, eachLifetime = begin, each
}

var (
	beginLifetimes func()
	eachLifetime   func(visit func(key string, made, ended, nothing int64))
)

// countLifetimes begins to count what is handed out and ended. Until then, calls of package ended
// cost next to nothing.
func (r *runner) countLifetimes() {
	if r.counts {
		return
	}
	r.counts = true
	if beginLifetimes != nil {
		beginLifetimes()
	}
}

// lifetimes is what was handed out and ended so far, by key.
func lifetimes() map[string]Lifetime {
	all := make(map[string]Lifetime)
	if eachLifetime != nil {
		eachLifetime(func(key string, made, ended, nothing int64) {
			all[key] = Lifetime{float64(made), float64(ended), float64(nothing)}
		})
	}
	return all
}

// lifetimesSince is what each of some calls has handed out and ended since before.
func lifetimesSince(before map[string]Lifetime, calls int) map[string]Lifetime {
	all := lifetimes()
	for key, l := range all {
		n := float64(max(1, calls))
		b := before[key]
		all[key] = Lifetime{(l.Made - b.Made) / n, (l.Ended - b.Ended) / n, (l.Nothing - b.Nothing) / n}
	}
	return all
}
