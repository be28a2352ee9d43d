import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** An event of the stream. */
final class Event {
    final int id;
    final long time;
    final String name;
    final int price;

    Event(JsonNode json) {
        id = json.get("id").intValue();
        time = json.get("t").longValue();
        name = json.get("name").textValue();
        price = json.get("price").intValue();
    }
}
