package screen

import (
	"image/color"
	"math"
	"testing"
)

// light is a colour's amounts of red, green and blue light, 0 to 1.
func light(c color.Color) (l [3]float64) {
	r, g, b, _ := c.RGBA()
	for i, v := range []uint32{r, g, b} {
		x := float64(v) / 0xffff
		if l[i] = x / 12.92; x > 0.04045 {
			l[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return l
}

// luminance and contrast are those of WCAG 2.
func luminance(c color.Color) float64 {
	l := light(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

func contrast(a, b color.Color) float64 {
	low, high := luminance(a)+0.05, luminance(b)+0.05
	return max(low, high) / min(low, high)
}

// eyes turn light into what is seen by eyes that lack a kind of cones: Machado, Oliveira
// and Fernandes, A Physiologically-based Model for Simulation of Color Vision
// Deficiency, 2009, at severity 1.
var eyes = map[string][3][3]float64{
	"all cones":     {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"no red cones":  {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"no green ones": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"no blue ones":  {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func times(m [3][3]float64, v [3]float64) (out [3]float64) {
	for i := range out {
		out[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return out
}

// lab returns a colour as eyes see it in OKLab (Björn Ottosson, 2020), in which
// distances are about as large as differences look.
func lab(c color.Color, eye [3][3]float64) [3]float64 {
	l := times(eye, light(c))
	for i := range l {
		l[i] = min(max(l[i], 0), 1)
	}
	l = times([3][3]float64{
		{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005},
	}, l)
	for i := range l {
		l[i] = math.Cbrt(l[i])
	}
	return times([3][3]float64{
		{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660},
	}, l)
}

func distance(a, b color.Color, eye [3][3]float64) float64 {
	x, y := lab(a, eye), lab(b, eye)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// closest returns how far apart the two nearest of some roles are, to any eyes.
func closest(t *testing.T, theme *Theme, apart int, roles ...Role) float64 {
	t.Helper()
	least := math.Inf(1)
	for _, eye := range eyes {
		for i := range roles {
			for j := i + 1; j < len(roles) && j-i <= apart; j++ {
				least = min(least, distance(theme.colour(roles[i]), theme.colour(roles[j]), eye))
			}
		}
	}
	return least
}

func TestColoursForAllEyesAreFarApart(t *testing.T) {
	var bands []Role
	for i := range bandCount {
		bands = append(bands, Band(i))
	}
	for _, onLight := range []bool{false, true} {
		theme := NewTheme(true, false)
		theme.Use("color-blind")
		theme.SetLight(onLight)
		for name, got := range map[string][2]float64{
			"any two bands":        {closest(t, theme, bandCount, bands...), 0.09},
			"neighbouring bands":   {closest(t, theme, 1, bands...), 0.17},
			"good, warning, alarm": {closest(t, theme, 3, Good, Warning, Alarm), 0.17},
		} {
			if got[0] < got[1] {
				t.Errorf("%s differ by %.3f on light=%v, want %v", name, got[0], onLight, got[1])
			}
		}
	}
}

func TestTextsCanBeRead(t *testing.T) {
	names, about := Palettes()
	for i, name := range names {
		want := 4.2
		if name == "contrast" {
			want = 7
		}
		for _, onLight := range []bool{false, true} {
			theme := NewTheme(true, false)
			theme.Use(name)
			theme.SetLight(onLight)
			back := color.Color(color.Black)
			if theme.Light {
				back = color.White
			}
			for _, role := range []Role{Muted, Accent, Good, Warning, Alarm} {
				if got := contrast(theme.colour(role), back); got < want {
					t.Errorf("%s (%s): role %d has %.1f:1 on light=%v, want %v", name, about[i], role, got, theme.Light, want)
				}
			}
			for band := range bandCount {
				if got := contrast(theme.colour(Band(band)), theme.colour(OnBand)); got < want {
					t.Errorf("%s: text on band %d has %.1f:1, want %v", name, band, got, want)
				}
			}
		}
	}
}

func TestAPaletteForOneBackgroundStaysWithIt(t *testing.T) {
	for name, want := range map[string][2]bool{"default": {false, true}, "dark": {false, false}, "light": {true, true}, "none": {false, true}} {
		theme := NewTheme(true, false)
		theme.Use(name)
		for i, light := range []bool{false, true} {
			if theme.SetLight(light); theme.Light != want[i] {
				t.Errorf("%s: on light=%v it is drawn for light=%v", name, light, theme.Light)
			}
		}
	}
}
