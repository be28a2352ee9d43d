import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** A query of the experiment as a FlinkCEP pattern; what the experiment does not use is refused. */
final class QueryPattern {
    private QueryPattern() {}

    static Pattern<Event, ?> of(JsonNode query) {
        return sequence(query.get("seq"), skip(query.get("skip").get("kind").textValue()));
    }

    private static AfterMatchSkipStrategy skip(String kind) {
        switch (kind) {
            case "no_skip":
                return AfterMatchSkipStrategy.noSkip();
            case "to_next":
                return AfterMatchSkipStrategy.skipToNext();
            case "past_last_event":
                return AfterMatchSkipStrategy.skipPastLastEvent();
            default:
                throw new IllegalArgumentException("skip strategy " + kind);
        }
    }

    private static Pattern<Event, ?> sequence(JsonNode elements, AfterMatchSkipStrategy skip) {
        Pattern<Event, ?> last = null;
        for (JsonNode element : elements) {
            last = quantified(linked(last, element, skip), element);
        }
        return last;
    }

    @SuppressWarnings("unchecked")
    private static Pattern<Event, Event> linked(Pattern<Event, ?> last, JsonNode element, AfterMatchSkipStrategy skip) {
        String link = element.get("link").textValue();
        if (element.has("group")) {
            if (!link.equals("begin")) {
                throw new IllegalArgumentException("a group behind " + link);
            }
            Pattern<Event, ?> inside = sequence(element.get("group"), AfterMatchSkipStrategy.noSkip());
            return (Pattern<Event, Event>) (Pattern<Event, ?>) Pattern.begin((Pattern<Event, Event>) inside, skip);
        }
        String name = element.get("name").textValue();
        Pattern<Event, Event> pattern;
        switch (link) {
            case "begin":
                pattern = Pattern.begin(name, skip);
                break;
            case "next":
                pattern = (Pattern<Event, Event>) last.next(name);
                break;
            case "followed_by":
                pattern = (Pattern<Event, Event>) last.followedBy(name);
                break;
            case "followed_by_any":
                pattern = (Pattern<Event, Event>) last.followedByAny(name);
                break;
            default:
                throw new IllegalArgumentException("link " + link);
        }
        return pattern.where(condition(element.get("where")));
    }

    private static Pattern<Event, Event> quantified(Pattern<Event, Event> pattern, JsonNode element) {
        if (!element.has("times")) {
            return pattern;
        }
        int least = element.get("times").get(0).intValue();
        JsonNode most = element.get("times").get(1);
        Pattern<Event, Event> loop;
        if (most.isNull()) {
            loop = least == 1 ? pattern.oneOrMore() : pattern.timesOrMore(least);
        } else {
            loop = most.intValue() == least ? pattern.times(least) : pattern.times(least, most.intValue());
        }
        if (element.has("optional")) {
            loop = loop.optional();
        }
        String inner = element.get("inner").textValue();
        if (inner.equals("strict")) {
            loop = loop.consecutive();
        } else if (inner.equals("nd_relaxed")) {
            loop = loop.allowCombinations();
        }
        return element.has("until") ? loop.until(condition(element.get("until"))) : loop;
    }

    private static IterativeCondition<Event> condition(JsonNode json) {
        if (json.has("agg")) {
            String variable = json.get("agg").get("var").textValue();
            int most = json.get("value").intValue();
            return new SumAtMost(variable, most);
        }
        String name = json.get("value").textValue();
        return new IterativeCondition<Event>() {
            @Override
            public boolean filter(Event event, Context<Event> taken) {
                return event.name.equals(name);
            }
        };
    }

    /** The paper's fold: the prices that a variable has taken, and the current one, come to no more than a number. */
    private static final class SumAtMost extends IterativeCondition<Event> {
        private static final long serialVersionUID = 1L;
        private final String variable;
        private final int most;

        SumAtMost(String variable, int most) {
            this.variable = variable;
            this.most = most;
        }

        @Override
        public boolean filter(Event event, Context<Event> taken) throws Exception {
            int sum = event.price;
            for (Event before : taken.getEventsForPattern(variable)) {
                sum += before.price;
            }
            return sum <= most;
        }
    }
}
