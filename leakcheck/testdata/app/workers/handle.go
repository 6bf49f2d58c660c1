//go:build !regression

package workers

//go:noinline
func (p *Pool) handle() {
	for range p.jobs {
	}
}
