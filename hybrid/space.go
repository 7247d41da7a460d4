package hybrid

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
)

// DefaultSearch returns the search space that the member tags of a configuration's fields declare, by key.
func DefaultSearch(cfg any) (map[string]Prior, error) {
	keys, err := config.MemberFields(cfg)
	if err != nil {
		return nil, fmt.Errorf("hybrid: search space: %w", err)
	}
	space := map[string]Prior{}
	for _, k := range keys {
		if k.Member.Prior == "" {
			continue
		}
		p := Prior{Low: k.Member.Low, High: k.Member.High}
		err := p.Prior.UnmarshalText([]byte(k.Member.Prior))
		if err == nil {
			err = p.Validate()
		}
		if err != nil {
			return nil, fmt.Errorf("hybrid: search space: %s: %w", k.Name, err)
		}
		space[k.Name] = p
	}
	return space, nil
}
