// Package weather serves forecasts to tenants. Each tenant has a cache of its own, which is dropped
// with the tenant.
package weather

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

// Forecast is the weather of one city.
type Forecast struct {
	City, Text string
}

// Tenant is a customer with a cache of forecasts.
type Tenant struct {
	fetch func(city string) *Forecast
	cache *expirable.LRU[string, *Forecast]
}

var (
	mu      sync.Mutex
	tenants = make(map[string]*Tenant) // by name
)

// Open adds a tenant, whose forecasts come from fetch and are good for an hour.
func Open(name string, fetch func(city string) *Forecast) *Tenant {
	t := &Tenant{
		fetch: fetch,
		cache: expirable.NewLRU[string, *Forecast](128, nil, time.Hour),
	}
	mu.Lock()
	defer mu.Unlock()
	tenants[name] = t
	return t
}

// Close removes a tenant.
func Close(name string) {
	mu.Lock()
	defer mu.Unlock()
	delete(tenants, name)
}

// Forecast returns a city's forecast, at most an hour old.
func (t *Tenant) Forecast(city string) *Forecast {
	if f, ok := t.cache.Get(city); ok {
		return f
	}
	f := t.fetch(city)
	t.cache.Add(city, f)
	return f
}
